//! Edge-optimised à-trous wavelets for photographs (Hanika 2011).
//!
//! The definition is `definition::eaw`. The noise level is estimated when it is not given. Schedule: `dilated`,
//! levels down with the kernel of the à-trous filter, then one pass up for each level, from fine to coarse.

use super::atrous::AtrousSchedule;
use super::{Backend, Entry, Method, Schedule, Use};
use crate::definition::{self, noise};
use crate::kernel::atrous::{Atrous as Level, Mode, Stops, Walk};
use crate::kernel::pack::{Pack, Spot, Unpack};
use crate::kernel::upward::Shrink;
use crate::plan::{Element, Plan, Role, Slot, SlotId};
use crate::{Error, Frame, Layer, Result, Shape};

/// The method in the list.
pub(super) const ENTRY: Entry = Entry {
    name: "eaw",
    used: Use::Denoise,
    about: "edge-optimised à-trous wavelets, for photographs",
    make: || Box::new(Eaw::default()),
};

crate::options! {
    /// Edge-optimised à-trous wavelets with their options.
    pub struct Eaw {
        /// Number of levels, 1 to 8.
        pub levels: usize = 5,
        /// Standard deviation of the noise, in the image's own values: 25/255, say. Estimated when not given.
        pub sigma: Option<f32> = None,
        /// Differences of colour above this many noise deviations are edges.
        pub range: f32 = 3.0,
        /// How much more noise is taken from differences of colour than from luminance: 1 is as much as there is.
        pub chroma: f32 = 1.0,
        /// Gains of the levels' details, from the finest: more than 1 sharpens, less softens. 1 where not given.
        pub gains: Vec<f32> = Vec::new(),
    }
}

/// The B3 spline.
const TAPS: [f32; 5] = [0.0625, 0.25, 0.375, 0.25, 0.0625];

/// Deviation of noise in the details of each level, as a share of the noise in the image: measured on white noise with a
/// range of three deviations, one channel and three.
const SHARES: [[f32; 8]; 2] = [
    [0.782, 0.251, 0.091, 0.042, 0.021, 0.0105, 0.0053, 0.0026],
    [0.756, 0.274, 0.095, 0.043, 0.021, 0.0105, 0.0053, 0.0026],
];

/// σ when nothing is known of the image.
const UNKNOWN: f32 = 0.05;

impl Eaw {
    fn checked(&self, shape: &Shape) -> Result<(usize, f32)> {
        if !(1..=8).contains(&self.levels) {
            return Err(Error::option("levels", self.levels, "1 … 8"));
        }
        let sigma = self.sigma.unwrap_or(UNKNOWN);
        for (name, value) in [("sigma", sigma), ("range", self.range)] {
            if value <= 0.0 {
                return Err(Error::option(name, value, "a number above 0"));
            }
        }
        if self.chroma < 0.0 {
            return Err(Error::option("chroma", self.chroma, "0 or more"));
        }
        let channels = shape.require(&Layer::COLOR)?;
        Ok((channels, sigma))
    }

    /// Variances of noise in the details of a level.
    fn noise(&self, level: usize, channels: usize, sigma: f32) -> [f32; 2] {
        let deviation = SHARES[usize::from(channels == 3)][level] * sigma;
        let color = deviation * self.chroma;
        [deviation * deviation, color * color]
    }

    /// The range as the filter's weights `exp(-(Δ/σ)²)` have it.
    fn width(&self, sigma: f32) -> f32 {
        self.range * sigma * std::f32::consts::SQRT_2
    }
}

impl Method for Eaw {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepare(&mut self, frame: &Frame) -> Result<()> {
        if self.sigma.is_none() {
            self.sigma = Some(noise::estimate(frame.color()?).max(1e-5));
        }
        Ok(())
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        Schedule::list(on, [AtrousSchedule::Dilated])
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        schedule.choice::<AtrousSchedule>()?;
        let (channels, sigma) = self.checked(shape)?;
        let mut plan = Plan::new(format!("eaw {schedule}"), shape.size);
        let (planes, element) = match schedule.backend() {
            Backend::Gpu => (1, Element::F32x4),
            Backend::Cpu => (channels, Element::F32),
        };
        let slot = |plan: &mut Plan, name: String| -> SlotId {
            plan.slot(Slot::new(name, Role::Transient, shape.size, planes).element(element))
        };
        let spot = Spot {
            channels,
            plane: 0,
            vector: 0,
            lane: 0,
            albedo: false,
            variance: false,
        };
        let input = plan.input(Layer::COLOR, channels);
        let mut fine = slot(&mut plan, "level 0".into());
        let pack = Pack {
            spot,
            first: true,
            half: false,
        };
        plan.pass(pack, [input], [fine]);
        let sum = slot(&mut plan, "sum".into());
        for level in 0..self.levels {
            let coarse = slot(&mut plan, format!("level {}", level + 1));
            let down = Level {
                level: level as u32,
                taps: TAPS.to_vec(),
                stops: Stops {
                    color: Some(1.0 / self.width(sigma)),
                    features: Vec::new(),
                    local: None,
                },
                guided: None,
                planes: channels,
                colors: channels,
                squared: None,
                grid: 1,
                mode: Mode::Mean,
                half: false,
                walk: Walk::Dilated,
            };
            plan.pass(down, [fine], [coarse]);
            let up = Shrink {
                colors: channels,
                noise: self.noise(level, channels, sigma),
                gain: self.gains.get(level).copied().unwrap_or(1.0),
                first: level == 0,
                last: level + 1 == self.levels,
            };
            plan.pass(up, [fine, coarse], [sum]);
            fine = coarse;
        }
        let output = plan.output(Layer::COLOR, channels);
        plan.pass(Unpack { spot }, [sum], [output]);
        Ok(plan)
    }

    fn define(&self, frame: &Frame) -> Result<Frame> {
        let (channels, sigma) = self.checked(&frame.shape())?;
        let noise: Vec<[f32; 2]> = (0..self.levels)
            .map(|level| self.noise(level, channels, sigma))
            .collect();
        let settings = definition::eaw::Eaw {
            taps: &TAPS,
            levels: self.levels,
            range: self.width(sigma),
            noise: &noise,
            gains: &self.gains,
        };
        Frame::new(definition::eaw::eaw(frame.color()?, &settings))
    }

    fn examples(&self) -> Vec<Box<dyn Method>> {
        let all = [
            Self {
                levels: 3,
                ..Self::default()
            },
            Self {
                levels: 2,
                sigma: Some(0.3),
                gains: vec![1.5],
                chroma: 2.0,
                range: 2.0,
            },
        ];
        all.into_iter()
            .map(|m| Box::new(m) as Box<dyn Method>)
            .collect()
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}
