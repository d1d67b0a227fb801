//! Decimated wavelets, plain and edge-avoiding, with all details thrown away.

use crate::definition::atrous::{dimming, modulate};
use crate::definition::lifted::{Wavelet, lifted};
use crate::kernel::atrous::Stops;
use crate::kernel::guard::{Guard, Powers};
use crate::kernel::lift::{Lift, Near};
use crate::kernel::pack::{Pack, PackFeatures, Packing, Unpack};
use crate::method::atrous::Atrous;
use crate::method::atrous::setup::Setup;
use crate::method::{Backend, Entry, Method, Schedule, Use};
use crate::plan::{Plan, SlotId};
use crate::{Frame, Image, Kind, LUMINANCE, Layer, Result, Shape};

crate::choice! {
    /// How lifting runs.
    enum LiftedSchedule {
        /// Steps in place on the full grid.
        Steps = "steps",
    }
}

macro_rules! plain {
    ($name:ident, $entry:ident, $word:literal, $about:literal, $wavelet:expr, $doc:literal) => {
        pub(super) const $entry: Entry = Entry {
            name: $word,
            used: Use::Denoise,
            about: $about,
            make: || Box::new($name::default()),
        };

        crate::options! {
            #[doc = $doc]
            pub struct $name {
                /// Number of levels, 1 to 10: their details are thrown away.
                pub levels: usize = 3,
                /// Do not divide by albedo before and multiply after.
                pub no_demodulate: bool = false,
                /// Do not dim pixels that are far brighter than all around them.
                pub no_firefly_guard: bool = false,
            }
        }

        impl $name {
            fn atrous(&self) -> Atrous {
                Atrous {
                    levels: self.levels,
                    no_demodulate: self.no_demodulate,
                    no_firefly_guard: self.no_firefly_guard,
                    // Any σ, so that none is looked for.
                    sigma_color: Some(1.0),
                    ..Atrous::default()
                }
            }

            fn stopless(&self, shape: &Shape) -> Result<Setup> {
                let mut setup = self.atrous().setup(shape)?;
                setup.color = None;
                Ok(setup)
            }
        }

        impl Method for $name {
            fn name(&self) -> &'static str {
                $word
            }

            fn schedules(&self, on: Backend) -> Vec<Schedule> {
                Schedule::list(on, [LiftedSchedule::Steps])
            }

            fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
                schedule.choice::<LiftedSchedule>()?;
                Ok(plan($word, $wavelet, &self.stopless(shape)?, shape))
            }

            fn define(&self, frame: &Frame) -> Result<Frame> {
                define($wavelet, &self.stopless(&frame.shape())?, frame)
            }

            fn boxed(&self) -> Box<dyn Method> {
                Box::new(self.clone())
            }
        }
    };
}

macro_rules! avoiding {
    ($name:ident, $entry:ident, $word:literal, $about:literal, $wavelet:expr, $doc:literal) => {
        pub(super) const $entry: Entry = Entry {
            name: $word,
            used: Use::Denoise,
            about: $about,
            make: || Box::new($name::default()),
        };

        crate::options! {
            #[doc = $doc]
            pub struct $name {
                /// Number of levels, 1 to 10: their details are thrown away.
                pub levels: usize = 3,
                /// Differences of colour above this count as edges; halved at each level.
                pub sigma_color: Option<f32> = None,
                /// Differences of the normal above this count as edges; grows with the step.
                pub sigma_normal: Option<f32> = None,
                /// Differences of position above this count as edges, in scene units.
                pub sigma_position: Option<f32> = None,
                /// Differences of albedo above this count as edges.
                pub sigma_albedo: Option<f32> = None,
                /// Differences of depth above this count as edges, in scene units; grows with the step.
                pub sigma_depth: Option<f32> = None,
                /// Do not divide by albedo before and multiply after.
                pub no_demodulate: bool = false,
                /// Do not dim pixels that are far brighter than all around them.
                pub no_firefly_guard: bool = false,
            }
        }

        impl $name {
            fn atrous(&self) -> Atrous {
                Atrous {
                    levels: self.levels,
                    sigma_color: self.sigma_color,
                    sigma_normal: self.sigma_normal,
                    sigma_position: self.sigma_position,
                    sigma_albedo: self.sigma_albedo,
                    sigma_depth: self.sigma_depth,
                    no_demodulate: self.no_demodulate,
                    no_firefly_guard: self.no_firefly_guard,
                    ..Atrous::default()
                }
            }
        }

        impl Method for $name {
            fn name(&self) -> &'static str {
                $word
            }

            fn prepare(&mut self, frame: &Frame) -> Result<()> {
                let mut found = self.atrous();
                found.prepare(frame)?;
                self.sigma_color = found.sigma_color;
                self.sigma_normal = found.sigma_normal;
                self.sigma_position = found.sigma_position;
                self.sigma_albedo = found.sigma_albedo;
                self.sigma_depth = found.sigma_depth;
                Ok(())
            }

            fn schedules(&self, on: Backend) -> Vec<Schedule> {
                Schedule::list(on, [LiftedSchedule::Steps])
            }

            fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
                schedule.choice::<LiftedSchedule>()?;
                Ok(plan($word, $wavelet, &self.atrous().setup(shape)?, shape))
            }

            fn define(&self, frame: &Frame) -> Result<Frame> {
                define($wavelet, &self.atrous().setup(&frame.shape())?, frame)
            }

            fn boxed(&self) -> Box<dyn Method> {
                Box::new(self.clone())
            }
        }
    };
}

plain!(
    Cdf22,
    CDF22,
    "cdf22",
    "decimated CDF(2,2) wavelets without details, to compare with",
    Wavelet::Cdf22,
    "Decimated CDF(2,2) wavelets without details."
);
plain!(
    RedBlack,
    REDBLACK,
    "redblack",
    "decimated red-black wavelets without details, to compare with",
    Wavelet::RedBlack,
    "Decimated red-black wavelets without details."
);
avoiding!(
    EawCdf22,
    EAW_CDF22,
    "eaw-cdf22",
    "edge-avoiding CDF(2,2) wavelets without details, to compare with",
    Wavelet::Cdf22,
    "Edge-avoiding CDF(2,2) wavelets without details."
);
avoiding!(
    EawRedBlack,
    EAW_REDBLACK,
    "eaw-redblack",
    "edge-avoiding red-black wavelets without details, to compare with",
    Wavelet::RedBlack,
    "Edge-avoiding red-black wavelets without details."
);

/// The halves of a level as kernels see them: parities of details, parities of what stays, neighbours.
fn halves(wavelet: Wavelet) -> [(u8, u8, Near); 2] {
    match wavelet {
        Wavelet::Cdf22 => [(0b1010, 0b0101, Near::X), (0b0100, 0b0001, Near::Y)],
        Wavelet::RedBlack => [
            (0b0110, 0b1001, Near::Cross),
            (0b1000, 0b0001, Near::Corners),
        ],
    }
}

/// What stops the steps of a level.
fn stops(setup: &Setup, level: usize) -> Stops {
    if setup.color.is_none() && setup.guides.is_empty() {
        return Stops::default();
    }
    Stops {
        color: setup.color_stop(level),
        features: setup.stops(level),
        local: None,
    }
}

fn plan(name: &str, wavelet: Wavelet, setup: &Setup, shape: &Shape) -> Plan {
    let mut plan = Plan::new(format!("{name} steps"), shape.size);
    let spot = setup.items[0].spot;
    let albedo = setup.demodulates.then(|| plan.input(Kind::Albedo, 3));
    let with_albedo =
        |slot: SlotId| -> Vec<SlotId> { [Some(slot), albedo].into_iter().flatten().collect() };
    let input = plan.input(Layer::COLOR, setup.colors);
    let mut work = plan.transient("payload", setup.colors);
    let pack = Pack {
        spot,
        first: true,
        half: false,
    };
    plan.pass(pack, with_albedo(input), [work]);
    let features = features(&mut plan, setup, albedo);
    if setup.guard {
        let guarded = plan.transient("guarded", setup.colors);
        let guard = Guard {
            colors: setup.colors,
            powers: Powers {
                planes: vec![1; setup.colors],
                vectors: Vec::new(),
            },
            half: false,
        };
        plan.pass(guard, [work], [guarded]);
        work = guarded;
    }
    let mut guides = Vec::new();
    let step = |plan: &mut Plan, work: SlotId, guide: SlotId, kernel: Lift| -> SlotId {
        let next = plan.transient("lifted", setup.colors);
        let color = kernel.stops.color.map(|_| guide);
        let reads: Vec<SlotId> = [Some(work), color, features]
            .into_iter()
            .flatten()
            .collect();
        plan.pass(kernel, reads, [next]);
        next
    };
    let lift = |level: usize, makes: u8, near: Near, factor: f32, keeps: bool| Lift {
        step: 1 << level,
        makes,
        near,
        factor,
        keeps,
        stops: stops(setup, level),
        colors: setup.colors,
    };
    for level in 0..setup.levels {
        for (details, stays, near) in halves(wavelet) {
            let guide = work;
            work = step(
                &mut plan,
                work,
                guide,
                lift(level, details, near, -1.0, true),
            );
            work = step(&mut plan, work, guide, lift(level, stays, near, 0.5, true));
            guides.push(guide);
        }
    }
    for level in (0..setup.levels).rev() {
        for (details, _, near) in halves(wavelet).into_iter().rev() {
            let guide = guides.pop().unwrap_or(work);
            work = step(
                &mut plan,
                work,
                guide,
                lift(level, details, near, 1.0, false),
            );
        }
    }
    let output = plan.output(Layer::COLOR, setup.colors);
    plan.pass(Unpack { spot }, with_albedo(work), [output]);
    plan.align = 1 << setup.levels;
    plan
}

fn features(plan: &mut Plan, setup: &Setup, albedo: Option<SlotId>) -> Option<SlotId> {
    if setup.guides.is_empty() {
        return None;
    }
    let mut reads = Vec::new();
    for g in &setup.guides {
        let input = albedo.filter(|_| g.kind == Kind::Albedo);
        reads.push(input.unwrap_or_else(|| plan.input(g.kind.clone(), g.channels)));
    }
    let features = plan.transient("features", setup.stops(0).len());
    let kernel = PackFeatures {
        layers: setup.feature_planes(),
        packing: Packing::Full,
    };
    plan.pass(kernel, reads, [features]);
    Some(features)
}

fn define(wavelet: Wavelet, setup: &Setup, frame: &Frame) -> Result<Frame> {
    let albedo = frame.get(Kind::Albedo).filter(|_| setup.demodulates);
    let color = frame.color()?;
    let mut light = match albedo {
        Some(albedo) => modulate(color, albedo, true),
        None => color.clone(),
    };
    if setup.guard {
        let (width, height) = (light.width(), light.height());
        let bright = Image::from_fn(width, height, 1, |x, y, _| match light.channels() {
            1 => light.get(x, y, 0),
            _ => (0..3).map(|k| LUMINANCE[k] * light.get(x, y, k)).sum(),
        });
        let factor = dimming(&bright);
        light = Image::from_fn(width, height, light.channels(), |x, y, k| {
            light.get(x, y, k) * factor.get(x, y, 0)
        });
    }
    let mut images = Vec::new();
    for g in &setup.guides {
        images.push(frame.require(g.kind.clone())?);
    }
    let weight = |level: usize, guide: &Image, p: [usize; 2], q: [usize; 2]| -> f64 {
        let mut e = 0.0;
        let mut add = |image: &Image, stop: f32| {
            for k in 0..image.channels() {
                let d = f64::from(image.get(p[0], p[1], k) - image.get(q[0], q[1], k));
                e -= (d * f64::from(stop)).powi(2);
            }
        };
        if let Some(stop) = setup.color_stop(level) {
            add(guide, stop);
        }
        let planes = setup.feature_planes();
        let stops = setup.stops(level);
        for (image, (first, _)) in images.iter().zip(planes) {
            add(image, stops[first]);
        }
        e.exp()
    };
    let stopped = setup.color.is_some() || !setup.guides.is_empty();
    let made = lifted(
        &light,
        wavelet,
        setup.levels,
        if stopped { Some(&weight) } else { None },
    );
    Frame::new(match albedo {
        Some(albedo) => modulate(&made, albedo, false),
        None => made,
    })
}
