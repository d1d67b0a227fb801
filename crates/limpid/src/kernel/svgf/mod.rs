//! Passes of variance-guided filtering around its à-trous levels: what a frame brings, what history adds, and how much
//! noise is left. The definition is [`crate::definition::svgf`].
//!
//! Slots, by planes on the CPU and by four channels on the GPU: `light` is colour divided by albedo, and the object's
//! number; `features` are normal, depth and its gradient, and the object, 16 bytes on the GPU; `moments` are the means of luminance and of
//! its square, the number of frames, and the object's number.

mod cpu;
mod gpu;

use super::atrous::FEATURES;
use super::{Contract, Dispatch, Job, Kernel, Site};
use crate::Result;
use crate::plan::Phases;

/// Planes of the moments.
pub const MOMENTS: usize = 4;

/// Where normals or depth come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// A layer of their own.
    Layer,
    /// Positions.
    Position,
}

/// Divides colour by albedo and packs the features. Reads colour, then albedo, normal, depth, position and id, as far as
/// they are used; writes light and features.
#[derive(Debug, Clone, PartialEq)]
pub struct Gather {
    /// Channels of colour.
    pub colors: usize,
    /// Whether there is albedo to divide by.
    pub albedo: bool,
    /// Where normals come from.
    pub normal: From,
    /// Where depth comes from.
    pub depth: From,
    /// Whether there are numbers of objects.
    pub id: bool,
}

impl Gather {
    /// The layers read after colour: albedo, normal, depth, position, id.
    fn layers(&self) -> [bool; 5] {
        let layer = |from| from == From::Layer;
        let position = !layer(self.normal) || !layer(self.depth);
        [
            self.albedo,
            layer(self.normal),
            layer(self.depth),
            position,
            self.id,
        ]
    }

    /// The number of a layer among the reads.
    fn read(&self, layer: usize) -> Option<usize> {
        let layers = self.layers();
        layers[layer].then(|| 1 + layers[..layer].iter().filter(|l| **l).count())
    }
}

impl Kernel for Gather {
    fn name(&self) -> &'static str {
        "svgf-gather"
    }

    fn contract(&self) -> Contract {
        let reads = 1 + self.layers().iter().filter(|l| **l).count();
        Contract::rows(reads, 2, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::gather(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::gather(self, site))
    }
}

/// Blends light and the moments of its luminance with history. Reads light, features, motion, and of the last frame: the
/// first level's colour, moments, features. Writes light and moments.
#[derive(Debug, Clone, PartialEq)]
pub struct Temporal {
    /// Channels of colour.
    pub colors: usize,
    /// Least share of the new frame.
    pub alpha: f32,
    /// The order of the last frame's colour; rows if none.
    pub order: Option<Phases>,
}

impl Kernel for Temporal {
    fn name(&self) -> &'static str {
        "svgf-temporal"
    }

    fn contract(&self) -> Contract {
        Contract::gather(6, 2, None)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::temporal(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::temporal(self, site))
    }
}

/// Makes the variance of luminance. Reads light, features and, with history, moments; writes colour with variance and, with
/// history, moments and features for the next frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Channels of colour.
    pub colors: usize,
    /// σ of depth.
    pub depth: f32,
    /// The cosine of normals is squared this many times.
    pub squarings: u32,
    /// Least share of a new frame.
    pub alpha: f32,
    /// Whether there are moments over time; else every frame is a first one.
    pub history: bool,
    /// Whether results are rounded to half precision.
    pub half: bool,
}

impl Kernel for Spread {
    fn name(&self) -> &'static str {
        "svgf-variance"
    }

    fn contract(&self) -> Contract {
        let (reads, writes) = if self.history { (3, 3) } else { (2, 1) };
        Contract::rows(reads, writes, crate::definition::svgf::WINDOW)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::spread(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::spread(self, site))
    }
}
