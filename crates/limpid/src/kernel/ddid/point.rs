//! What happens to each pixel before the first step and after the last: stabilised variance and decorrelated colour.
//!
//! Both directions are exact opposites but for Anscombe's transform, whose inverse is the unbiased one: it maps the mean
//! of transformed samples to the mean of samples.

use crate::definition::ddid::dct;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site, WgslStruct};
use crate::params;
use crate::{Result, Size};

/// Noise of a sensor: the mean count `x/gain` has Poisson's distribution, reading it adds Gaussian noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poisson {
    /// Value of one count, in the image's units.
    pub gain: f32,
    /// Standard deviation of the read noise, in the image's units.
    pub read: f32,
}

/// The discrete cosine transform along the channels, with Anscombe's transform before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Enter {
    /// Noise to be made uniform, with standard deviation 1.
    pub noise: Option<Poisson>,
}

/// The way back.
#[derive(Debug, Clone, PartialEq)]
pub struct Leave {
    /// The noise of [`Enter`].
    pub noise: Option<Poisson>,
}

impl Poisson {
    /// Anscombe's transform for counts with read noise (Starck, Murtagh and Bijaoui 1998): noise of standard deviation 1.
    #[inline]
    pub fn stabilise(self, v: f32) -> f32 {
        2.0 * (v / self.gain + self.shift()).max(0.0).sqrt()
    }

    /// The exact unbiased inverse in the closed form of Mäkitalo and Foi 2013.
    #[inline]
    pub fn restore(self, d: f32) -> f32 {
        // Below the transform of 0 counts the series is not made for; all of it means black.
        let d = d.max(LEAST);
        let t = 1.0 / d;
        let x = 0.25 * d * d + t * (UNBIASED[0] + t * (UNBIASED[1] + t * UNBIASED[2])) - 0.125;
        (x - (self.read / self.gain).powi(2)).max(0.0) * self.gain
    }

    fn shift(self) -> f32 {
        0.375 + (self.read / self.gain).powi(2)
    }
}

/// `2·√(3/8)`: the transform of 0.
const LEAST: f32 = 1.224_744_9;

/// `¼√(3/2)`, `-11/8`, `⅝√(3/2)`.
const UNBIASED: [f32; 3] = [0.306_186_22, -1.375, 0.765_465_54];

params! {
    /// Parameters of both shaders: the matrix row by row, and the noise.
    struct Params {
        pixels: u32, stride: u32, gain: f32, square: f32,
        m00: f32, m01: f32, m02: f32, m10: f32, m11: f32, m12: f32, m20: f32, m21: f32, m22: f32,
        pad0: u32, pad1: u32, pad2: u32
    }
}

/// Row by row what multiplies the channels, going in or out.
fn matrix(channels: usize, into: bool) -> [[f32; 3]; 3] {
    std::array::from_fn(|a| {
        std::array::from_fn(|b| {
            let (k, i) = if into { (a, b) } else { (b, a) };
            if k.max(i) < channels {
                dct(k, i, channels) as f32
            } else {
                0.0
            }
        })
    })
}

fn mix(job: &mut Job<'_>, into: bool, before: impl Fn(f32) -> f32, after: impl Fn(f32) -> f32) {
    let planes = job.reads[0].planes().min(3);
    let m = matrix(planes, into);
    for y in job.rows.clone() {
        for to in 0..planes {
            let row = job.writes[0].row(to, y);
            row.fill(0.0);
            for from in 0..planes {
                for (w, v) in row.iter_mut().zip(job.reads[0].row(from, y)) {
                    *w += m[to][from] * before(*v);
                }
            }
            for w in row {
                *w = after(*w);
            }
        }
    }
}

/// Threads of a workgroup.
const GROUP: u32 = 128;

fn shader(site: &Site<'_>, into: bool, noise: Option<Poisson>) -> Dispatch {
    let slot = site.reads[0];
    let pixels = slot.size.pixels() as u32;
    let groups = pixels.div_ceil(GROUP);
    let wide = groups.min(site.target.groups);
    let m = matrix(slot.planes, into);
    let Poisson { gain, read } = noise.unwrap_or(Poisson {
        gain: 1.0,
        read: 0.0,
    });
    let params = Params {
        pixels,
        stride: wide * GROUP,
        gain,
        square: (read / gain).powi(2),
        m00: m[0][0],
        m01: m[0][1],
        m02: m[0][2],
        m10: m[1][0],
        m11: m[1][1],
        m12: m[1][2],
        m20: m[2][0],
        m21: m[2][1],
        m22: m[2][2],
        pad0: 0,
        pad1: 0,
        pad2: 0,
    };
    let source = format!(
        "{}const GROUP: u32 = {GROUP};\nconst PLANES: u32 = {};\nconst STABILISE: bool = {};\nconst RESTORE: bool = {};\n\
         const LEAST: f32 = {LEAST:?};\nconst UNBIASED = vec3<f32>({:?}, {:?}, {:?});\n{}",
        Params::WGSL,
        slot.planes,
        into && noise.is_some(),
        !into && noise.is_some(),
        UNBIASED[0],
        UNBIASED[1],
        UNBIASED[2],
        include_str!("point.wgsl")
    );
    Dispatch::compute(source, &params, [wide, groups.div_ceil(wide), 1])
}

impl Kernel for Enter {
    fn name(&self) -> &'static str {
        "colors-in"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        match self.noise {
            Some(noise) => mix(job, true, |v| noise.stabilise(v), |v| v),
            None => mix(job, true, |v| v, |v| v),
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(shader(site, true, self.noise))
    }

    fn scratch(&self, _size: Size) -> usize {
        0
    }
}

impl Kernel for Leave {
    fn name(&self) -> &'static str {
        "colors-out"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        match self.noise {
            Some(noise) => mix(job, false, |v| v, |v| noise.restore(v)),
            None => mix(job, false, |v| v, |v| v),
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(shader(site, false, self.noise))
    }
}
