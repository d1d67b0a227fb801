//! Passes of variance-guided filtering before its à-trous levels: changes of light, temporal accumulation, and spatial variance
//! where history is short. The definition is `definition::svgf`.
//!
//! Slots, as planes on the CPU and as vectors of four channels on the GPU: `payload` is light (colour divided by albedo) and
//! the variance of its luminance; `features` are normal, depth and its gradient, and the object, 16 bytes on the GPU; `moments`
//! are the means of luminance and of its square, the number of frames, and the object id.

mod change;
mod cpu;
mod gpu;
mod spatial;

use crate::atrous::FEATURES;
use crate::own::own;
use limpid_core::{Error, Result, Size};
use limpid_plan::Phases;
use limpid_plan::{Contract, Dispatch, Element, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::svgf::WINDOW;

/// Planes of the moments.
pub const MOMENTS: usize = 4;

/// The source of normals or depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A separate layer.
    Layer,
    /// Positions.
    Position,
}

/// The layers of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    /// Channels of colour.
    pub colors: usize,
    /// Whether there is albedo to divide by.
    pub albedo: bool,
    /// The source of normals.
    pub normal: Origin,
    /// The source of depth.
    pub depth: Origin,
    /// Whether there are object ids.
    pub id: bool,
}

impl Layers {
    /// Whether each is read after colour: albedo, normal, depth, position, id.
    pub fn used(&self) -> [bool; 5] {
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

    /// The index of a layer among the reads.
    fn read(&self, layer: usize) -> Option<usize> {
        let used = self.used();
        used[layer].then(|| 1 + used[..layer].iter().filter(|l| **l).count())
    }

    /// Number of layers that are read, including colour.
    fn count(&self) -> usize {
        1 + self.used().iter().filter(|l| **l).count()
    }
}

/// Parameters of blending with history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Past {
    /// Smallest share of the new frame.
    pub alpha: f32,
    /// Whether negative depth marks mirrors, glass and emitters.
    pub mirrors: bool,
    /// The order of the last frame's colour; rows if `None`.
    pub order: Option<Phases>,
}

/// Means over the pixels of a row around each one: of luminance and of its square, and of the history's mean and variance.
///
/// Reads colour, the albedo that it is divided by, if there is any, and the history's moments. Writes the four means.
#[derive(Debug, Clone, PartialEq)]
pub struct Across {
    /// Channels of colour.
    pub colors: usize,
    /// Whether there is albedo to divide by.
    pub albedo: bool,
}

impl Kernel for Across {
    fn name(&self) -> &'static str {
        "svgf-across"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2 + usize::from(self.albedo), 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        gpu::across_needs(self, pass)
    }

    fn scratch(&self, size: Size) -> usize {
        change::scratch(size.width)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        change::across(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::across(self, pass)))
    }

    /// The layers of a frame.
    fn reads_texture(&self, read: usize) -> bool {
        read <= usize::from(self.albedo)
    }
}

/// The share of the history that counts: less where the light of the surroundings has changed.
///
/// Reads what [`Across`] wrote, and motion. Writes the share in place of the payload's variance, where [`Temporal`] takes it from.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Channels of colour.
    pub colors: usize,
}

impl Kernel for Change {
    fn name(&self) -> &'static str {
        "svgf-change"
    }

    fn contract(&self) -> Contract {
        Contract::gather(2, 1, None)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        gpu::change_needs(self, pass)
    }

    fn scratch(&self, size: Size) -> usize {
        change::scratch(size.width)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        change::change(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::change(pass)))
    }

    /// Motion.
    fn reads_texture(&self, read: usize) -> bool {
        read == 1
    }
}

/// Divides colour by albedo, packs the features, and blends light and the moments of its luminance with history. Their variance
/// is accurate where history is long enough; [`SpatialVariance`] computes it elsewhere.
///
/// Reads colour, then albedo, normal, depth, position and id, if used; with history, motion, the previous frame's
/// first-level colour, features and moments, and from the payload what [`Change`] wrote. Writes payload, features and moments.
#[derive(Debug, Clone, PartialEq)]
pub struct Temporal {
    /// The layers of a frame.
    pub layers: Layers,
    /// How history is blended, if there is any.
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
            Some(_) => Contract::gather(layers + 4, 3, None).updating(),
            None => Contract::rows(layers, 3, 1),
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        gpu::needs(self, pass)
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(size.width)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::temporal(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let order = self.past.and_then(|past| past.order);
        if order.is_some_and(|order| order.level >= 16) {
            return Err(Error::unsupported("an order of more than 15 levels"));
        }
        Ok(own(self, pass, gpu::temporal(self, pass)))
    }

    /// The layers of a frame and motion.
    fn reads_texture(&self, read: usize) -> bool {
        let layers = self.layers.count();
        let motion = layers + usize::from(self.lights);
        read < layers || (self.past.is_some() && read == motion)
    }
}

/// Computes the variance of luminance from the surrounding pixels where history is short. Reads features and moments; updates
/// the payload's variance.
#[derive(Debug, Clone, PartialEq)]
pub struct SpatialVariance {
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

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let payload = pass.writes[0];
        if payload.element == Element::F32 {
            return Vec::new();
        }
        let plane = |element: Element| Need::planes(payload.size, 1).of(element);
        vec![
            plane(Element::U32x4),
            plane(Element::F32x4),
            plane(payload.element),
        ]
    }

    fn scratch(&self, size: Size) -> usize {
        spatial::scratch(size.width)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        spatial::run(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::spatial_variance(self, pass)))
    }
}
