//! Edge-optimised à-trous wavelets for photographs (Hanika 2011).
//!
//! The definition is `definition::eaw`. The noise level is estimated if it is not given. Schedules are those of the à-trous
//! filter. Each level is followed by its part of the upward pass, from fine to coarse, so that only two levels are kept.

use super::atrous::AtrousSchedule;
use super::photo::{Noise, NoiseOptions, Stabilised};
use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Error, Frame, Layer, Result, Shape};
use limpid_kernel_render::atrous::{Atrous as Level, Mode, Source, Stops, Walk};
use limpid_kernel_render::pack::{Pack, PackedAt, Unpack};
use limpid_kernel_render::upward::Upward;
use limpid_plan::{Element, Layout, Order, Phases, Plan, Role, Slot, SlotId};
use limpid_reference::definition;

/// The method in the list.
pub(super) const ENTRY: Entry = Entry::new(
    "eaw",
    Use::Denoise,
    "edge-optimised à-trous wavelets, for photographs",
    || Box::new(Eaw::default()),
)
.advised(&[(
    InputKind::Photograph,
    "default: measures and removes camera noise; quality fast leaves out its second filter",
)])
.steps("refine", ["false", "true", "true"]);

crate::options! {
    /// Edge-optimised à-trous wavelets with their options.
    pub struct Eaw {
        /// Number of levels, 1 to 8.
        pub levels: usize = 5,
        /// Standard deviation of white noise, in the image's own values, such as 25/255.
        pub sigma: Option<f32> = None,
        use noise("image");
        /// Colour differences above this many noise deviations are edges.
        pub range: f32 = 3.0,
        /// Gains of the levels' details, from the finest: more than 1 sharpens, less softens. Missing gains are 1.
        pub gains: Vec<f32> = Vec::new(),
        /// Filter again, frequency by frequency, using the result as an estimate: better, slower.
        pub refine: bool = false,
    }
}

/// The B3 spline.
const TAPS: [f32; 5] = [0.0625, 0.25, 0.375, 0.25, 0.0625];

/// Standard deviation of noise in the details of each level, relative to the noise in the image: measured on white noise with a
/// range of three deviations, for one channel and for three.
const SHARES: [[f32; 8]; 2] = [
    [0.782, 0.251, 0.091, 0.042, 0.021, 0.0105, 0.0053, 0.0026],
    [0.756, 0.274, 0.095, 0.043, 0.021, 0.0105, 0.0053, 0.0026],
];

/// Weight of noise without fine components, in luminance and in colour: fitted on the images `tune` of
/// `bench/peers/cameras.py`.
const COARSE: [f32; 2] = [1.0, 1.3];

impl Eaw {
    fn check(&self) -> Result<()> {
        if !(1..=8).contains(&self.levels) {
            return Err(Error::option("levels", self.levels, "1 … 8"));
        }
        if self.range <= 0.0 {
            return Err(Error::option("range", self.range, "a number above 0"));
        }
        Ok(())
    }

    /// For each level, the variance of noise in the details of each channel.
    fn noise(&self, stabilised: &Stabilised) -> Vec<[f32; 3]> {
        let spectra = stabilised.spectra();
        let shares = SHARES[usize::from(spectra.len() == 3)];
        let share = |level: usize, k: usize| {
            let spectrum = &spectra[k.min(spectra.len() - 1)];
            shares[level].powi(2) * spectrum.in_details(level) as f32
        };
        (0..self.levels)
            .map(|level| std::array::from_fn(|k| share(level, k)))
            .collect()
    }

    /// The range for weights of the form `exp(-(Δ/σ)²)`, for noise of standard deviation 1.
    fn width(&self) -> f32 {
        self.range * std::f32::consts::SQRT_2
    }
}

impl Method for Eaw {
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
        let mut all = vec![AtrousSchedule::Dilated];
        if on == Backend::Gpu {
            let tile = Some(Source::Tile(None));
            let orders = [Order::Ascending, Order::Local];
            all.splice(0..0, orders.map(|o| AtrousSchedule::exact(o, tile)));
        }
        Schedule::list(on, all)
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let (order, taps) = match schedule.choice::<AtrousSchedule>()? {
            AtrousSchedule::Permuted {
                order,
                taps: Some(taps),
                ..
            } => (Some(order), taps),
            _ => (None, Source::Global),
        };
        self.check()?;
        let channels = shape.require(&Layer::COLOR)?;
        let stabilised = self.wanted(COARSE).stabilised(channels)?;
        let noise = self.noise(&stabilised);
        let mut plan = Plan::new(format!("eaw {schedule}"), shape.size);
        let (planes, element) = match schedule.backend() {
            Backend::Gpu => (1, Element::F32x4),
            Backend::Cpu => (channels, Element::F32),
        };
        let phases = |level: usize| {
            order.map(|order| Phases {
                level: level as u32,
                order,
                mirror: false,
            })
        };
        let slot = |plan: &mut Plan, name: String, order: Option<Phases>| -> SlotId {
            let layout = order
                .filter(|o| o.level > 0)
                .map_or(Layout::Rows, Layout::Phases);
            let slot = Slot::new(name, Role::Transient, shape.size, planes);
            plan.slot(slot.element(element).layout(layout))
        };
        let packed_at = PackedAt {
            channels,
            plane: 0,
            vector: 0,
            lane: 0,
            albedo: false,
            variance: false,
        };
        let input = plan.input(Layer::COLOR, channels);
        let mut fine = slot(&mut plan, "level 0".into(), None);
        let pack = Pack {
            packed_at,
            first: true,
            half: false,
        };
        let noisy = plan.transient("noisy", channels);
        stabilised.enter(&mut plan, input, noisy);
        plan.pass(pack, [noisy], [fine]);
        let mut sum = Vec::new();
        for level in 0..self.levels {
            let last = level + 1 == self.levels;
            let next = phases(level + 1);
            let coarse = slot(&mut plan, format!("level {}", level + 1), next);
            let down = Level {
                level: level as u32,
                taps: TAPS.to_vec(),
                stops: Stops {
                    color: Some(1.0 / self.width()),
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
                walk: match phases(level) {
                    None => Walk::Dilated,
                    Some(from) => Walk::Permuted {
                        from,
                        to: next,
                        taps,
                    },
                },
            };
            plan.pass(down, [fine], [coarse]);
            let up = Upward {
                colors: channels,
                level: level as u32,
                noise: noise[level],
                gain: self.gains.get(level).copied().unwrap_or(1.0),
                first: level == 0,
                last,
                from: phases(level),
            };
            let name = format!("details to {}", level + 1);
            let made = slot(&mut plan, name, next.filter(|_| !last));
            let reads: Vec<SlotId> = [fine, coarse].into_iter().chain(sum).collect();
            plan.pass(up, reads, [made]);
            (fine, sum) = (coarse, vec![made]);
        }
        let made = plan.transient("made", channels);
        let output = plan.output(Layer::COLOR, channels);
        plan.pass(
            Unpack {
                packed_at,
                exact: false,
                order: None,
            },
            sum,
            [made],
        );
        let made = match self.refine {
            true => stabilised.refine(&mut plan, [noisy, made]),
            false => made,
        };
        stabilised.leave(&mut plan, made, output);
        Ok(plan)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Eaw {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        self.check()?;
        let image = frame.color()?;
        let stabilised = self.wanted(COARSE).stabilised(image.channels())?;
        let noise = self.noise(&stabilised);
        let settings = definition::eaw::Eaw {
            taps: &TAPS,
            levels: self.levels,
            range: self.width(),
            noise: &noise,
            gains: &self.gains,
        };
        let made = stabilised.define(image, |image| {
            let made = definition::eaw::eaw(image, &settings);
            Ok(match self.refine {
                true => stabilised.refined(image, &made),
                false => made,
            })
        });
        Frame::new(made?)
    }
}

impl Examples for Eaw {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let all = [
            Self {
                levels: 3,
                noise: Noise::example(),
                ..Self::default()
            },
            Self {
                levels: 2,
                noise: Noise::example(),
                refine: true,
                ..Self::default()
            },
            Self {
                levels: 2,
                sigma: Some(0.3),
                gains: vec![1.5],
                chroma: 2.0,
                range: 2.0,
                ..Self::default()
            },
        ];
        all.into_iter()
            .map(|m| Box::new(m) as Box<dyn Method>)
            .collect()
    }
}
