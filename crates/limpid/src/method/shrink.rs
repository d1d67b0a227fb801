//! Wavelet shrinkage: transform, move coefficients towards zero, transform back; averaged over shifts.
//!
//! The definition is [`crate::definition::shrink`]. Schedules are those of the transform.

use super::dwt::{Ready, Scale};
use super::{Backend, Entry, Method, Schedule, Use};
use crate::definition::shrink as definition;
use crate::definition::shrink::{Rule, band_gains};
use crate::kernel::shrink::{Opponent, Roll, Soften, Thresholds, bands};
use crate::plan::{Plan, Role, Slot};
use crate::wavelet::Direction;
use crate::{Error, Frame, Layer, Result, Shape, Size};

/// Shrinkage in the list of methods.
pub(super) const ENTRY: Entry = Entry {
    name: "shrink",
    used: Use::Denoise,
    about: "wavelet shrinkage with cycle spinning, for photographs",
    make: || Box::new(Shrink::default()),
};

crate::choice! {
    /// How thresholds are found.
    pub enum Threshold {
        /// BayesShrink.
        Bayes = "bayes",
        /// VisuShrink.
        Visu = "visu",
        /// Least estimated risk.
        Sure = "sure",
    }
}

crate::options! {
    /// Wavelet shrinkage with its options.
    pub struct Shrink {
        /// Standard deviation of the noise, such as 25/255; estimated when not given.
        pub sigma: Option<f32> = None,
        /// How thresholds are found.
        pub threshold: Threshold = Threshold::Bayes,
        /// Name of the wavelet.
        pub wavelet: String = "cdf97".to_owned(),
        /// How often the low band is transformed.
        pub levels: usize = 4,
        /// Shifts along each axis that are averaged; 1 for none.
        pub shifts: usize = 4,
    }
}

impl Shrink {
    fn ready(&self) -> Result<Ready> {
        if !(1..=16).contains(&self.shifts) {
            return Err(Error::input(format!(
                "--shifts {}: expected 1 to 16",
                self.shifts
            )));
        }
        if self.sigma.is_some_and(|s| s < 0.0) {
            return Err(Error::input(
                "--sigma: expected a number that is not negative",
            ));
        }
        Ready::new(&self.wavelet, self.levels, Scale::Orthonormal)
    }

    fn rule(&self) -> Rule {
        match self.threshold {
            Threshold::Bayes => Rule::Bayes,
            Threshold::Visu => Rule::Visu,
            Threshold::Sure => Rule::Sure,
        }
    }
}

impl Method for Shrink {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepare(&mut self, frame: &Frame) -> Result<()> {
        if self.sigma.is_none() {
            self.sigma = Some(definition::estimate_sigma(frame.require(Layer::COLOR)?));
        }
        Ok(())
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        let all = self.ready().map(|r| r.schedules(on)).unwrap_or_default();
        // What matters here is what happens between the transforms; a few schemes that differ most.
        let few = ["fused", "lifting*", "separable-lifting+", "explosion*"];
        all.into_iter()
            .filter(|s| few.contains(&s.as_str()))
            .collect()
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let ready = self.ready()?;
        let planes = shape
            .channels(&Layer::COLOR)
            .ok_or_else(|| Error::input("shrinkage needs the layer 'color'"))?;
        let sigma = self.sigma.unwrap_or(0.0);
        let Size { width, height } = shape.size;
        let bands = bands(shape.size, ready.levels, |level| {
            let (one, both) = band_gains(&ready.wavelet, level);
            (sigma * one as f32, sigma * both as f32)
        });
        let mut plan = Plan::new(format!("shrink {schedule}"), shape.size);
        let mut source = plan.input(Layer::COLOR, planes);
        let result = plan.output(Layer::COLOR, planes);
        let mut sum = result;
        if planes == 3 {
            let rotated = plan.transient("rotated", 3);
            plan.pass(Opponent { back: false }, [source], [rotated]);
            source = rotated;
            sum = plan.transient("sum", 3);
        }
        let count = self.shifts * self.shifts;
        for s in 0..count {
            let (dx, dy) = (s % self.shifts % width, s / self.shifts % height);
            let moved = plan.transient(format!("moved {s}"), planes);
            plan.pass(
                Roll {
                    by: (dx, dy),
                    weight: 1.0,
                    add: false,
                },
                [source],
                [moved],
            );
            let packed = plan.transient(format!("coefficients {s}"), planes);
            ready.levels(&mut plan, (moved, packed), schedule, Direction::Forward)?;
            let size = Size::new(bands.len(), 1);
            let limits = plan.slot(Slot::new(
                format!("thresholds {s}"),
                Role::Transient,
                size,
                planes,
            ));
            plan.pass(
                Thresholds {
                    bands: bands.clone(),
                    rule: self.rule(),
                },
                [packed],
                [limits],
            );
            let softened = plan.transient(format!("softened {s}"), planes);
            plan.pass(
                Soften {
                    bands: bands.clone(),
                },
                [packed, limits],
                [softened],
            );
            let back = plan.transient(format!("back {s}"), planes);
            ready.levels(&mut plan, (back, softened), schedule, Direction::Inverse)?;
            let weight = 1.0 / count as f32;
            plan.pass(
                Roll {
                    by: (width - dx, height - dy),
                    weight,
                    add: s > 0,
                },
                [back],
                [sum],
            );
        }
        if planes == 3 {
            plan.pass(Opponent { back: true }, [sum], [result]);
        }
        Ok(plan)
    }

    fn define(&self, frame: &Frame) -> Result<Frame> {
        let dwt = self.ready()?.definition();
        let image = frame.require(Layer::COLOR)?;
        let sigma = self
            .sigma
            .unwrap_or_else(|| definition::estimate_sigma(image));
        Frame::new(definition::shrink(
            image,
            &dwt,
            sigma,
            self.rule(),
            self.shifts,
        )?)
    }

    fn examples(&self) -> Vec<Box<dyn Method>> {
        let with = |threshold, wavelet: &str, levels, shifts| {
            let (sigma, wavelet) = (Some(0.1), wavelet.to_owned());
            Box::new(Self {
                sigma,
                threshold,
                wavelet,
                levels,
                shifts,
            }) as Box<dyn Method>
        };
        vec![
            with(Threshold::Bayes, "cdf97", 2, 2),
            with(Threshold::Visu, "dd137", 2, 1),
            with(Threshold::Sure, "cdf53", 1, 1),
        ]
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}
