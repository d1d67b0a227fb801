//! Per-pixel transforms before the first step and after the last: variance stabilisation and colour decorrelation.
//!
//! Both directions are exact inverses except for the Anscombe transform, whose inverse is the unbiased one.

use super::anscombe::{END, ENTRIES, Inverse, Poisson};
use crate::own::own;
use limpid_core::Result;
use limpid_plan::params;
use limpid_plan::wgsl::{Wgsl, float};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, WgslStruct};
use limpid_reference::definition::ddid::dct;

/// The Anscombe transform, followed by the discrete cosine transform along the channels.
#[derive(Debug, Clone, PartialEq)]
pub struct Enter {
    /// Noise to be normalised to standard deviation 1.
    pub noise: Option<Poisson>,
}

/// The inverse.
#[derive(Debug, Clone, PartialEq)]
pub struct Leave {
    /// The inverse of the variance stabilisation of [`Enter`].
    pub noise: Option<Inverse>,
}

params! {
    /// Parameters of both shaders: the matrix row by row, the noise, and the table of the inverse.
    struct Params {
        pixels: u32, stride: u32, gain: f32, square: f32,
        m00: f32, m01: f32, m02: f32, m10: f32, m11: f32, m12: f32, m20: f32, m21: f32, m22: f32,
        first: f32, scale: f32
    }
}

/// The colour matrix, forward if `into`, otherwise inverse.
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

/// One plane, or three.
fn needs(pass: &PassSlots<'_>) -> Vec<Need> {
    let planes = if pass.reads[0].planes == 3 { 3 } else { 1 };
    [Need::planes(pass.reads[0].size, planes); 2].to_vec()
}

/// Threads of a workgroup.
const GROUP: u32 = 128;

/// Forward with the noise to be stabilised, or inverse.
#[derive(Clone, Copy)]
enum Conversion<'a> {
    Forward(Option<Poisson>),
    Inverse(Option<&'a Inverse>),
}

fn shader(pass: &PassSlots<'_>, conversion: Conversion<'_>) -> Dispatch {
    let slot = pass.reads[0];
    let pixels = slot.size.pixels() as u32;
    let groups = pixels.div_ceil(GROUP);
    let wide = groups.min(pass.target.groups);
    let m = matrix(slot.planes, matches!(conversion, Conversion::Forward(_)));
    let (noise, inverse) = match conversion {
        Conversion::Forward(noise) => (noise, None),
        Conversion::Inverse(inverse) => (inverse.map(|i| i.noise), inverse),
    };
    let params = Params {
        pixels,
        stride: wide * GROUP,
        gain: noise.map_or(1.0, |n| n.gain),
        square: noise.map_or(0.0, Poisson::square),
        m00: m[0][0],
        m01: m[0][1],
        m02: m[0][2],
        m10: m[1][0],
        m11: m[1][1],
        m12: m[1][2],
        m20: m[2][0],
        m21: m[2][1],
        m22: m[2][2],
        first: inverse.map_or(0.0, |i| i.first),
        scale: inverse.map_or(0.0, Inverse::scale),
    };
    let table = inverse.map_or([0.0; ENTRIES], |i| i.table);
    let stabilise = matches!(conversion, Conversion::Forward(Some(_)));
    let restore = matches!(conversion, Conversion::Inverse(Some(_)));
    let source = Wgsl::default()
        .body(&Params::wgsl_with(table.len()))
        .constant("GROUP", "u32", GROUP)
        .constant("PLANES", "u32", slot.planes)
        .constant("STABILISE", "bool", stabilise)
        .constant("RESTORE", "bool", restore)
        .constant("END", "f32", float(END))
        .constant("ENTRIES", "u32", ENTRIES)
        .slots(pass, &["src", "dst"])
        .body(include_str!("point.wgsl"));
    let groups = [wide, groups.div_ceil(wide), 1];
    Dispatch::compute(source.text(), &(), groups).with_params(params.bytes_with(&table))
}

impl Kernel for Enter {
    fn name(&self) -> &'static str {
        "colors-in"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        needs(pass)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        match self.noise {
            Some(noise) => mix(job, true, |v| noise.stabilise(v), |v| v),
            None => mix(job, true, |v| v, |v| v),
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(
            self,
            pass,
            shader(pass, Conversion::Forward(self.noise)),
        ))
    }
}

impl Kernel for Leave {
    fn name(&self) -> &'static str {
        "colors-out"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        needs(pass)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        match &self.noise {
            Some(inverse) => mix(job, false, |v| v, |v| inverse.restore(v)),
            None => mix(job, false, |v| v, |v| v),
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(
            self,
            pass,
            shader(pass, Conversion::Inverse(self.noise.as_ref())),
        ))
    }
}
