//! Wavelet shrinkage: transform, move coefficients towards zero, transform back; averaged over shifts.
//!
//! The definition is `definition::shrink`. Schedules are those of the transform.

use super::dwt::{DwtSchedule, Mapping, Ready, Scale};
use super::{Backend, Entry, Method, Schedule, Use};
use crate::definition::shrink as definition;
use crate::definition::shrink::{Rule, band_gains, visu};
use crate::kernel::dwt::Limits;
use crate::kernel::shrink::{Band, BandSums, Find, Roll, Thresholds, bands, opponent, sums_size};
use crate::plan::{Plan, Role, Slot, SlotId};
use crate::wavelet::{Direction, Form, Kind, SchemeName};
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
        pub threshold: Threshold = Threshold::Sure,
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
            return Err(Error::option("shifts", self.shifts, "1 to 16"));
        }
        if let Some(sigma) = self.sigma.filter(|s| *s < 0.0) {
            return Err(Error::option("sigma", sigma, "0 or a number above"));
        }
        Ready::new(&self.wavelet, self.levels, Scale::Orthonormal)
    }

    /// Transforms an image, makes its coefficients smaller on their way and transforms them back. The first image's thresholds
    /// are kept for the others.
    fn smaller(
        &self,
        plan: &mut Plan,
        (ready, bands): (&Ready, &[Band]),
        image: SlotId,
        schedule: &Schedule,
        kept: &mut Option<SlotId>,
    ) -> Result<SlotId> {
        let planes = plan.at(image).planes;
        let packed = plan.transient("coefficients", planes);
        let back = plan.transient("smaller", planes);
        let find = match self.rule() {
            Rule::Bayes => Find::Bayes,
            Rule::Sure => Find::Sure,
            // The limits are known: forward stores what is left.
            Rule::Visu => {
                let limit = |b: &Band| visu(f64::from(b.sigma), plan.size.pixels()) as f32;
                let limits = bands
                    .chunks_exact(3)
                    .map(|b| Limits::Fixed([limit(&b[0]), limit(&b[1]), limit(&b[2])]));
                let limits: Vec<Limits> = limits.collect();
                let slots = (image, packed);
                ready.levels(plan, slots, schedule, Direction::Forward, (&limits, None))?;
                let none = (&[][..], None);
                ready.levels(plan, (back, packed), schedule, Direction::Inverse, none)?;
                return Ok(back);
            }
        };
        let none = (&[][..], None);
        ready.levels(plan, (image, packed), schedule, Direction::Forward, none)?;
        let limits = *kept.get_or_insert_with(|| {
            let size = sums_size(bands, find);
            let sums = plan.slot(Slot::new("sums", Role::Transient, size, planes));
            let size = Size::new(bands.len(), 1);
            let limits = plan.slot(Slot::new("thresholds", Role::Transient, size, planes));
            let bands = bands.to_vec();
            let thresholds = Thresholds {
                bands: bands.clone(),
                find,
            };
            plan.pass(BandSums { bands, find }, [packed], [sums]);
            plan.pass(thresholds, [sums], [limits]);
            limits
        });
        // Back reads what is left.
        let read: Vec<Limits> = (0..ready.levels)
            .map(|l| Limits::Slot { band: 3 * l })
            .collect();
        let read = (&read[..], Some(limits));
        ready.levels(plan, (back, packed), schedule, Direction::Inverse, read)?;
        Ok(back)
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
        let ready = self.ready();
        let all = ready
            .map(|r| r.schedules(on, Direction::Inverse))
            .unwrap_or_default();
        // What matters here is what happens between the transforms; a few schemes that differ most.
        let best = SchemeName::new(Kind::Lifting, Form::Star);
        let few = [
            DwtSchedule::Fused,
            DwtSchedule::Scheme(best, Mapping::Single),
            DwtSchedule::Scheme(best, Mapping::Shuffle),
        ];
        let one_of = |s: &&Schedule| s.choice().is_ok_and(|by| few.contains(&by));
        let some: Vec<Schedule> = all.iter().filter(one_of).cloned().collect();
        if some.is_empty() { all } else { some }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let ready = self.ready()?;
        let planes = shape.require(&Layer::COLOR)?;
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
            plan.pass(opponent(false), [source], [rotated]);
            source = rotated;
            sum = plan.transient("sum", 3);
        }
        let count = self.shifts * self.shifts;
        let mut kept = None;
        for s in 0..count {
            let (dx, dy) = (s % self.shifts % width, s / self.shifts % height);
            let mut moved = source;
            if (dx, dy) != (0, 0) {
                moved = plan.transient(format!("moved {s}"), planes);
                let roll = Roll {
                    by: (dx, dy),
                    weight: 1.0,
                    add: false,
                };
                plan.pass(roll, [source], [moved]);
            }
            let how = (&ready, &bands[..]);
            let back = self.smaller(&mut plan, how, moved, schedule, &mut kept)?;
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
            plan.pass(opponent(true), [sum], [result]);
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
            with(Threshold::Visu, "cdf53", 1, 1),
            with(Threshold::Sure, "cdf53", 1, 1),
        ]
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}
