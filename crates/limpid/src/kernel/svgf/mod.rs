//! Passes of variance-guided filtering before its à-trous levels: what a frame brings and history adds to it, and how much noise
//! is left where history is short. The definition is `definition::svgf`.
//!
//! Slots, by planes on the CPU and by four channels on the GPU: `payload` is light, colour divided by albedo, and the variance
//! of its luminance; `features` are normal, depth and its gradient, and the object, 16 bytes on the GPU; `moments` are the means
//! of luminance and of its square, the number of frames, and the object's number.

mod cpu;
mod gpu;
mod spatial;

use super::atrous::FEATURES;
use super::{Contract, Dispatch, Job, Kernel, Site};
use crate::definition::svgf::WINDOW;
use crate::plan::Phases;
use crate::{Result, Size};

/// Planes of the moments.
pub(crate) const MOMENTS: usize = 4;

/// Where normals or depth come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A separate layer.
    Layer,
    /// Positions.
    Position,
}

/// The layers of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layers {
    /// Channels of colour.
    pub colors: usize,
    /// Whether there is albedo to divide by.
    pub albedo: bool,
    /// Where normals come from.
    pub normal: Origin,
    /// Where depth comes from.
    pub depth: Origin,
    /// Whether there are numbers of objects.
    pub id: bool,
}

impl Layers {
    /// Whether each is read after colour: albedo, normal, depth, position, id.
    pub(crate) fn used(&self) -> [bool; 5] {
        let layer = |from| from == Origin::Layer;
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
        let used = self.used();
        used[layer].then(|| 1 + used[..layer].iter().filter(|l| **l).count())
    }

    /// How many are read, colour too.
    fn count(&self) -> usize {
        1 + self.used().iter().filter(|l| **l).count()
    }
}

/// What history is blended with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Past {
    /// Least share of the new frame.
    pub alpha: f32,
    /// Whether negative depth marks mirrors, glass and emitters.
    pub mirrors: bool,
    /// The order of the last frame's colour; rows if none.
    pub order: Option<Phases>,
}

/// Divides colour by albedo, packs the features, and blends light and the moments of its luminance with history; their variance
/// is right where history is long enough, and [`SpatialVariance`] makes the rest.
///
/// Reads colour, then albedo, normal, depth, position and id, as far as they are used; with a past, motion, and of the last frame
/// the first level's colour, features and moments. Writes payload, features and moments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Temporal {
    /// What a frame brings.
    pub layers: Layers,
    /// How history counts, if there is any.
    pub past: Option<Past>,
    /// Whether the payload is rounded to half precision.
    pub half: bool,
    /// Whether light layers are filtered too: a slot of them follows the layers, and their planes come after the payload's.
    pub lights: bool,
}

impl Kernel for Temporal {
    fn name(&self) -> &'static str {
        "svgf-temporal"
    }

    fn contract(&self) -> Contract {
        let layers = self.layers.count() + usize::from(self.lights);
        match self.past {
            Some(_) => Contract::gather(layers + 4, 3, None),
            None => Contract::rows(layers, 3, 1),
        }
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(size.width)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::temporal(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::temporal(self, site))
    }

    /// What a frame brings: its layers and motion.
    fn reads_texture(&self, read: usize) -> bool {
        let layers = self.layers.count();
        let motion = layers + usize::from(self.lights);
        read < layers || (self.past.is_some() && read == motion)
    }
}

/// Makes the variance of luminance from the pixels around where history is short. Reads features and moments; changes the
/// payload's variance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SpatialVariance {
    /// Channels of colour.
    pub colors: usize,
    /// σ of depth.
    pub depth: f32,
    /// The cosine of normals is squared this many times.
    pub squarings: u32,
    /// Whether negative depth marks mirrors, glass and emitters.
    pub mirrors: bool,
    /// Whether results are rounded to half precision.
    pub half: bool,
}

impl Kernel for SpatialVariance {
    fn name(&self) -> &'static str {
        "svgf-spatial-variance"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, WINDOW).updating()
    }

    fn scratch(&self, size: Size) -> usize {
        spatial::scratch(size.width)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        spatial::run(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::spatial_variance(self, site))
    }
}
