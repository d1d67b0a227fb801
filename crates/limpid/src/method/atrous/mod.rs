//! The edge-avoiding à-trous filter (Dammertz 2010) with the schedules of Dolp 2024.
//!
//! The definition is `definition::atrous`. In addition: deferred shading (colour is divided by albedo before and
//! multiplied after), a firefly guard, and everything that belongs to the colour (light layers, alpha, variance)
//! filtered with the colour's weights in the same passes.
//!
//! Schedules: `dilated` reads taps in place. `permuted:ORDER:BORDER` moves pixels so that taps are neighbours: ORDER
//! `ascending` or `local`; BORDER `exact`, where taps outside have no weight as in `dilated`, or `mirror`, which belongs to the
//! option `border`. On the GPU the last component says where taps are read: `global` memory, or a `tile` in workgroup memory.

mod around;
pub(super) mod define;
mod local;
mod schedule;
pub(super) mod setup;
pub(super) mod walk;

#[doc(hidden)]
pub use around::{Around, Begun};
pub(super) use schedule::AtrousSchedule;

use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Frame, Result, Shape};
use limpid_plan::Plan;
pub use limpid_reference::definition::atrous::Border;

/// The à-trous filter in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "atrous",
    Use::Denoise,
    "edge-avoiding à-trous wavelets, for renders with features",
    || Box::new(Atrous::default()),
)
.advised(&[(
    InputKind::Render,
    "quality fast: previews; needs features to keep edges",
)]);

crate::choice! {
    /// The kernel of the filter.
    pub enum Taps {
        /// The B3 spline 1 4 6 4 1; of another radius, binomial coefficients.
        B3 = "b3",
        /// The kernel 1 2 1; of another radius, binomial coefficients.
        Three = "3x3",
        /// All taps have the same weight.
        Box = "box",
    }
}

crate::choice! {
    /// How the filter's data is stored between passes on a GPU.
    pub enum Storage {
        /// Single precision.
        F32 = "f32",
        /// Half precision, features packed in 16 bytes.
        F16 = "f16",
    }
}

crate::options! {
    /// The à-trous filter with its options.
    pub struct Atrous {
        /// Number of levels, 1 to 10: each doubles the reach.
        pub levels: usize = 5,
        /// The kernel [default: 3x3, or b3 if any sigma is given].
        pub kernel: Option<Taps> = None,
        /// Taps to each side [default: 2, or 1 for the kernel 3x3].
        pub radius: Option<usize> = None,
        /// Colour differences above this stop the filter; halved at each level. If any sigma is given, only the given ones
        /// are used; 1e30 alone is the plain kernel.
        pub sigma_color: Option<f32> = None,
        /// Normal differences above this stop the filter; grows with the step.
        pub sigma_normal: Option<f32> = None,
        /// Position differences above this stop the filter, in scene units.
        pub sigma_position: Option<f32> = None,
        /// Albedo differences above this stop the filter.
        pub sigma_albedo: Option<f32> = None,
        /// Depth differences above this stop the filter, in scene units; grows with the step.
        pub sigma_depth: Option<f32> = None,
        /// As Dammertz 2010 also without any sigma: one of colour for the whole image, ten times its noise, and fixed ones of
        /// features.
        pub paper: bool = false,
        /// Without any sigma: the factor from colours to an image of ordinary brightness; measured by default.
        pub exposure: Option<f32> = None,
        /// Without any sigma: the extent of the scene's positions; measured by default.
        pub extent: Option<f32> = None,
        /// Do not divide by albedo before the filter and multiply after it.
        pub no_demodulate: bool = false,
        /// Do not dim pixels that are far brighter than their surroundings.
        pub no_firefly_guard: bool = false,
        /// Do not filter features that have a variance before they are used.
        pub no_prefilter: bool = false,
        /// How borders are treated.
        pub border: Border = Border::Zero,
        /// Side of the squares whose first pixel holds a sample: 1, 2 or 4. The others are filled in. Detected in the frame
        /// by default.
        pub subsample: Option<usize> = None,
        /// Make every pixel contribute as much as it receives, so that the image keeps its mean. Outliers are then not
        /// clamped, and colour is not divided by albedo.
        pub energy: bool = false,
        /// Keep details, times a gain for each level from the finest: 1 keeps, less softens, more sharpens.
        pub gains: Vec<f32> = Vec::new(),
        /// Light layers to filter with the colour's weights [default: all].
        pub aov: Vec<String> = Vec::new(),
        /// Also filter the variance of the colour and write it, as one channel.
        pub variance: bool = false,
        /// How data is stored between passes on a GPU.
        pub storage: Storage = Storage::F32,
    }
}

impl Method for Atrous {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        let mut made = self.clone();
        let known = Some(frame.sample_spacing()).filter(|n| setup::SQUARES.contains(n));
        made.subsample = self.subsample.or(known);
        made.estimate(frame)?;
        Ok(Box::new(made))
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        schedule::schedules(self, on)
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        match self.is_local() {
            true => local::plan(self, shape, schedule),
            false => walk::plan(self, &self.setup(shape)?, shape, schedule),
        }
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Atrous {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        match self.is_local() {
            true => local::define(self, frame),
            false => define::define(self, &self.setup(&frame.shape())?, frame),
        }
    }
}

impl Examples for Atrous {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let base = Self {
            levels: 3,
            ..Self::default()
        };
        let all = [
            Self {
                levels: 4,
                ..Self::default()
            },
            Self {
                levels: 2,
                no_prefilter: true,
                ..base.clone()
            },
            Self {
                paper: true,
                levels: 2,
                ..base.clone()
            },
            // No weights but the kernel's.
            Self {
                levels: 2,
                sigma_color: Some(f32::INFINITY),
                ..base.clone()
            },
            // The plain transform, with gains.
            Self {
                levels: 2,
                gains: vec![0.5, 1.5],
                no_demodulate: true,
                no_firefly_guard: true,
                sigma_color: Some(1e6),
                ..base.clone()
            },
            Self {
                kernel: Some(Taps::Three),
                sigma_normal: Some(0.3),
                sigma_depth: Some(0.4),
                sigma_albedo: Some(0.2),
                sigma_color: Some(0.8),
                sigma_position: Some(0.5),
                variance: true,
                ..base.clone()
            },
            Self {
                kernel: Some(Taps::Box),
                radius: Some(3),
                levels: 2,
                sigma_depth: Some(0.5),
                ..base.clone()
            },
            Self {
                border: Border::Mirror,
                ..base.clone()
            },
            Self {
                border: Border::MirrorLocal,
                sigma_normal: Some(0.2),
                sigma_color: Some(0.5),
                ..base.clone()
            },
            Self {
                subsample: Some(2),
                ..base.clone()
            },
            Self {
                subsample: Some(4),
                sigma_normal: Some(0.01),
                levels: 2,
                ..base.clone()
            },
            Self {
                energy: true,
                levels: 2,
                ..base.clone()
            },
            Self {
                storage: Storage::F16,
                variance: true,
                levels: 2,
                ..base
            },
        ];
        all.into_iter()
            .map(|m| Box::new(m) as Box<dyn Method>)
            .collect()
    }
}
