//! Wavelet shrinkage: forward transform, shrinkage, inverse transform; averaged over shifts.
//!
//! The definition is `definition::shrink`. Schedules are those of the transform.

use super::dwt::{DwtSchedule, Mapping, Ready, Scale};
use super::photo::{Noise, NoiseOptions, Stabilised};
use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Error, Frame, Layer, Result, Shape, Size};
use limpid_kernel_wavelet::dwt::Limits;
use limpid_kernel_wavelet::shrink::{Band, BandSums, Find, Roll, Thresholds, bands, sums_size};
use limpid_plan::{Plan, Role, Slot, SlotId};
use limpid_reference::definition::shrink as definition;
use limpid_reference::definition::shrink::{Rule, deviations, visu};
use limpid_wavelet::{Direction, Form, Kind, SchemeName};

/// Shrinkage in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "shrink",
    Use::Denoise,
    "wavelet shrinkage with cycle spinning, for photographs",
    || Box::new(Shrink::default()),
)
.advised(&[(
    InputKind::Photograph,
    "wavelet shrinkage, for white noise of known strength",
)]);

crate::choice! {
    /// How thresholds are chosen.
    pub enum Threshold {
        /// BayesShrink.
        Bayes = "bayes",
        /// VisuShrink.
        Visu = "visu",
        /// Lowest estimated risk.
        Sure = "sure",
    }
}

crate::options! {
    /// Wavelet shrinkage with its options.
    pub struct Shrink {
        /// Standard deviation of white noise, in the image's own values, such as 25/255.
        pub sigma: Option<f32> = None,
        use noise("image");
        /// How thresholds are chosen.
        pub threshold: Threshold = Threshold::Sure,
        /// Name of the wavelet.
        pub wavelet: String = "cdf97".to_owned(),
        /// Number of levels of the transform.
        pub levels: usize = 4,
        /// Number of shifts along each axis that are averaged; 1 for none.
        pub shifts: usize = 4,
    }
}

/// Weight of noise without fine components, in luminance and in colour: fitted on the images `tune` of
/// `bench/peers/cameras.py`.
const COARSE: [f32; 2] = [1.0, 1.3];

impl Shrink {
    fn ready(&self) -> Result<Ready> {
        if !(1..=16).contains(&self.shifts) {
            return Err(Error::option("shifts", self.shifts, "1 to 16"));
        }
        Ready::new(&self.wavelet, self.levels, Scale::Orthonormal)
    }

    /// Adds a transform of an image, the shrinkage of its coefficients and the inverse transform. The thresholds of the first
    /// image are reused for the others.
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
        let same = |b: &Band| b.sigma.iter().all(|s| *s == b.sigma[0]);
        let find = match self.rule() {
            Rule::Bayes => Find::Bayes,
            Rule::Sure => Find::Sure,
            // The thresholds are known in advance: the forward transform stores shrunk coefficients.
            Rule::Visu if bands.iter().all(same) => {
                let limits = bands
                    .chunks_exact(3)
                    .map(|b| Limits::Fixed([b[0].sigma[0], b[1].sigma[0], b[2].sigma[0]]));
                let limits: Vec<Limits> = limits.collect();
                let slots = (image, packed);
                ready.levels(plan, slots, schedule, Direction::Forward, (&limits, None))?;
                let none = (&[][..], None);
                ready.levels(plan, (back, packed), schedule, Direction::Inverse, none)?;
                return Ok(back);
            }
            Rule::Visu => Find::Visu,
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
        // The inverse transform shrinks the coefficients as it reads them.
        let read: Vec<Limits> = (0..ready.levels)
            .map(|l| Limits::Slot { band: 3 * l })
            .collect();
        let read = (&read[..], Some(limits));
        ready.levels(plan, (back, packed), schedule, Direction::Inverse, read)?;
        Ok(back)
    }

    /// For each level and band, the standard deviation of noise in each plane; for VisuShrink, the threshold.
    fn sigmas(&self, ready: &Ready, stabilised: &Stabilised, size: Size) -> Vec<[[f32; 3]; 3]> {
        let spectra = stabilised.spectra();
        let factor = match self.rule() {
            Rule::Visu => visu(1.0, size.pixels()),
            _ => 1.0,
        };
        let level = |level: usize| {
            let found = deviations(&ready.wavelet, level, &spectra);
            let at = |band: usize, plane: usize| {
                (found[plane.min(found.len() - 1)][band] * factor) as f32
            };
            std::array::from_fn(|band| std::array::from_fn(|plane| at(band, plane)))
        };
        (0..ready.levels).map(level).collect()
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

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        let mut made = self.clone();
        made.measure(frame.color()?, frame.iso())?;
        Ok(Box::new(made))
    }

    fn summary(&self) -> Option<String> {
        self.measured()
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        let ready = self.ready();
        let all = ready
            .map(|r| r.schedules(on, Direction::Inverse))
            .unwrap_or_default();
        // Only the steps between the transforms are specific to this method, so a few schemes are enough.
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
        let stabilised = self.wanted(COARSE).stabilised(planes)?;
        let Size { width, height } = shape.size;
        let bands = bands(shape.size, &self.sigmas(&ready, &stabilised, shape.size));
        let mut plan = Plan::new(format!("shrink {schedule}"), shape.size);
        let input = plan.input(Layer::COLOR, planes);
        let result = plan.output(Layer::COLOR, planes);
        let source = plan.transient("noisy", planes);
        let sum = plan.transient("sum", planes);
        stabilised.enter(&mut plan, input, source);
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
        stabilised.leave(&mut plan, sum, result);
        Ok(plan)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Shrink {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        let dwt = self.ready()?.definition();
        let image = frame.require(Layer::COLOR)?;
        let stabilised = self.wanted(COARSE).stabilised(image.channels())?;
        let spectra = stabilised.spectra();
        Frame::new(stabilised.define(image, |image| {
            definition::shrink(image, &dwt, &spectra, self.rule(), self.shifts)
        })?)
    }
}

impl Examples for Shrink {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let with = |threshold, wavelet: &str, levels, shifts| {
            let (sigma, wavelet) = (Some(0.1), wavelet.to_owned());
            Box::new(Self {
                sigma,
                threshold,
                wavelet,
                levels,
                shifts,
                ..Self::default()
            }) as Box<dyn Method>
        };
        let camera = |threshold| {
            Box::new(Self {
                threshold,
                levels: 2,
                shifts: 1,
                noise: Noise::example(),
                ..Self::default()
            }) as Box<dyn Method>
        };
        vec![
            with(Threshold::Bayes, "cdf97", 2, 2),
            with(Threshold::Visu, "cdf53", 1, 1),
            with(Threshold::Sure, "cdf53", 1, 1),
            camera(Threshold::Sure),
            camera(Threshold::Visu),
        ]
    }
}
