//! Weighted sums with a Gaussian window, normalised by the weights that fall inside the image.
//!
//! [`Gaussian`] filters both axes in one pass; [`GaussianAxis`] one axis, for the two-pass schedule on the GPU.

mod cpu;

use super::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};
use crate::params;
use crate::{Error, Result, Size};

/// How the window is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Walk {
    /// All `(2r+1)²` taps for each pixel.
    Direct,
    /// Rows, then columns of what the rows gave, in one pass over memory.
    Separable,
    /// All taps, from a tile in workgroup memory. On the CPU the same as [`Walk::Direct`].
    Tile,
}

/// Both axes at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    /// Taps to each side.
    pub radius: usize,
    /// Standard deviation in pixels.
    pub sigma: f32,
    /// How the window is walked.
    pub walk: Walk,
}

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianAxis {
    /// Taps to each side.
    pub radius: usize,
    /// Standard deviation in pixels.
    pub sigma: f32,
    /// Whether it walks down columns instead of along rows.
    pub vertical: bool,
}

/// `exp(-i² / 2σ²)` for `i` in `-radius … radius`.
pub fn taps(radius: usize, sigma: f32) -> Vec<f32> {
    let scale = -0.5 / f64::from(sigma).powi(2);
    let r = radius as i64;
    (-r..=r)
        .map(|i| ((i * i) as f64 * scale).exp() as f32)
        .collect()
}

params! {
    /// Parameters of all three shaders.
    struct Params { width: u32, height: u32, planes: u32, scale: f32 }
}

/// Workgroup of the shaders: 256 threads as 16×16.
const SIDE: u32 = 16;

fn dispatch(site: &Site<'_>, sigma: f32, radius: usize, body: &str) -> Dispatch {
    let (size, planes) = (site.reads[0].size, site.reads[0].planes);
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        planes: planes as u32,
        scale: -0.5 / (sigma * sigma),
    };
    let source = format!(
        "{}const R: i32 = {radius};\nconst SIDE: u32 = {SIDE};\n{body}",
        Params::WGSL
    );
    let mut groups = tiles(size, SIDE, SIDE);
    groups[2] = planes as u32;
    Dispatch::compute(source, &params, groups)
}

impl Kernel for Gaussian {
    fn name(&self) -> &'static str {
        "gaussian"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, self.radius)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let taps = taps(self.radius, self.sigma);
        match self.walk {
            Walk::Separable => cpu::separable(job, &taps),
            Walk::Direct | Walk::Tile => cpu::direct(job, &taps),
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        match self.walk {
            Walk::Direct => Ok(dispatch(
                site,
                self.sigma,
                self.radius,
                include_str!("direct.wgsl"),
            )),
            Walk::Tile => {
                let side = SIDE as usize + 2 * self.radius;
                if 4 * side * side > site.target.workgroup_bytes as usize {
                    return Err(Error::unsupported(format!(
                        "a tile with radius {} needs {} bytes of workgroup memory, the device has {}; use schedule two-pass",
                        self.radius,
                        4 * side * side,
                        site.target.workgroup_bytes
                    )));
                }
                Ok(dispatch(
                    site,
                    self.sigma,
                    self.radius,
                    include_str!("tile.wgsl"),
                ))
            }
            Walk::Separable => Err(Error::unsupported(
                "gaussian: both axes in one pass is for the CPU",
            )),
        }
    }

    fn scratch(&self, size: Size) -> usize {
        match self.walk {
            Walk::Separable => cpu::separable_scratch(self.radius, size.width),
            Walk::Direct | Walk::Tile => 0,
        }
    }
}

impl Kernel for GaussianAxis {
    fn name(&self) -> &'static str {
        "gaussian-axis"
    }

    fn contract(&self) -> Contract {
        let halo = if self.vertical { self.radius } else { 0 };
        Contract {
            reach: Some(self.radius),
            ..Contract::rows(1, 1, halo)
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::axis(job, &taps(self.radius, self.sigma), self.vertical);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let axis = format!("const VERTICAL: bool = {};\n", self.vertical);
        Ok(dispatch(
            site,
            self.sigma,
            self.radius,
            &(axis + include_str!("axis.wgsl")),
        ))
    }

    fn scratch(&self, size: Size) -> usize {
        if self.vertical {
            0
        } else {
            cpu::axis_scratch(self.radius, size.width)
        }
    }
}
