//! Decimated wavelets, plain and edge-avoiding, with all details thrown away.

use super::definition::{Wavelet, lifted};
use super::lift::{Lift, Neighbours, Stops};
use super::options::guided_options;
use limpid::conformance::{Define, Examples};
use limpid::method::atrous::{Around, Atrous};
use limpid::method::{Backend, Entry, Method, Schedule, Use};
use limpid::plan::{Plan, SlotId};
use limpid::{Frame, Image, Result, Shape};

limpid::choice! {
    /// How lifting runs.
    enum LiftedSchedule {
        /// Steps in place on the full grid.
        Steps = "steps",
    }
}

/// The method, for options that say what stands around the transform, and what is measured before.
macro_rules! lifted {
    ($name:ident, $entry:ident, $word:literal, $about:literal, $wavelet:expr) => {
        pub(super) const $entry: Entry =
            Entry::new($word, Use::Denoise, $about, || Box::new($name::default()));

        impl Method for $name {
            fn name(&self) -> &'static str {
                $word
            }

            fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
                let mut made = self.clone();
                made.measure(frame)?;
                Ok(Box::new(made))
            }

            fn schedules(&self, on: Backend) -> Vec<Schedule> {
                Schedule::list(on, [LiftedSchedule::Steps])
            }

            fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
                schedule.choice::<LiftedSchedule>()?;
                plan($word, $wavelet, &self.around(shape)?, shape)
            }

            fn boxed(&self) -> Box<dyn Method> {
                Box::new(self.clone())
            }
        }

        impl Examples for $name {}

        impl Define for $name {
            fn define(&self, frame: &Frame) -> Result<Frame> {
                define($wavelet, &self.around(&frame.shape())?, frame)
            }
        }
    };
}

macro_rules! plain {
    ($name:ident, $entry:ident, $word:literal, $about:literal, $wavelet:expr, $doc:literal) => {
        limpid::options! {
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
                Atrous::with(|m| {
                    m.levels = self.levels;
                    m.no_demodulate = self.no_demodulate;
                    m.no_firefly_guard = self.no_firefly_guard;
                    // Any σ, so that none is looked for.
                    m.sigma_color = Some(1.0);
                })
            }

            fn around(&self, shape: &Shape) -> Result<Around> {
                Ok(Around::new(&self.atrous(), shape)?.without_color())
            }

            fn measure(&mut self, _: &Frame) -> Result<()> {
                Ok(())
            }
        }

        lifted!($name, $entry, $word, $about, $wavelet);
    };
}

macro_rules! avoiding {
    ($name:ident, $entry:ident, $word:literal, $about:literal, $wavelet:expr, $doc:literal) => {
        guided_options! {
            #[doc = $doc]
            $name {
                /// Number of levels, 1 to 10: their details are thrown away.
                pub levels: usize = 3,
            }
        }

        impl $name {
            fn levels_used(&self) -> usize {
                self.levels
            }

            fn around(&self, shape: &Shape) -> Result<Around> {
                Around::new(&self.atrous(), shape)
            }

            fn measure(&mut self, frame: &Frame) -> Result<()> {
                self.find_sigmas(frame, 1.0)
            }
        }

        lifted!($name, $entry, $word, $about, $wavelet);
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
fn halves(wavelet: Wavelet) -> [(u8, u8, Neighbours); 2] {
    match wavelet {
        Wavelet::Cdf22 => [
            (0b1010, 0b0101, Neighbours::X),
            (0b0100, 0b0001, Neighbours::Y),
        ],
        Wavelet::RedBlack => [
            (0b0110, 0b1001, Neighbours::Cross),
            (0b1000, 0b0001, Neighbours::Corners),
        ],
    }
}

fn plan(name: &str, wavelet: Wavelet, around: &Around, shape: &Shape) -> Result<Plan> {
    let mut plan = Plan::new(format!("{name} steps"), shape.size);
    let begun = around.begin(&mut plan);
    let (levels, colors) = (around.levels(), around.colors());
    let mut work = begun.color;
    let mut guides = Vec::new();
    let step = |plan: &mut Plan, work: SlotId, guide: SlotId, kernel: Lift| -> SlotId {
        let next = plan.transient("lifted", colors);
        let color = kernel.stops.color.map(|_| guide);
        let reads: Vec<SlotId> = [Some(work), color, begun.features]
            .into_iter()
            .flatten()
            .collect();
        plan.pass(kernel, reads, [next]);
        next
    };
    let lift = |level: usize, makes: u8, near: Neighbours, factor: f32, keeps: bool| Lift {
        step: 1 << level,
        makes,
        near,
        factor,
        keeps,
        stops: Stops {
            color: around.color_stop(level),
            features: around.stops(level),
        },
        colors,
    };
    for level in 0..levels {
        for (details, stays, near) in halves(wavelet) {
            let guide = work;
            let kernel = lift(level, details, near, -1.0, true);
            work = step(&mut plan, work, guide, kernel);
            let kernel = lift(level, stays, near, 0.5, true);
            work = step(&mut plan, work, guide, kernel);
            guides.push(guide);
        }
    }
    for level in (0..levels).rev() {
        for (details, _, near) in halves(wavelet).into_iter().rev() {
            let guide = guides.pop().unwrap_or(work);
            let kernel = lift(level, details, near, 1.0, false);
            work = step(&mut plan, work, guide, kernel);
        }
    }
    around.end(&mut plan, begun, work)?;
    plan.set_align(1 << levels);
    Ok(plan)
}

fn define(wavelet: Wavelet, around: &Around, frame: &Frame) -> Result<Frame> {
    let light = around.light(frame)?;
    let guides = around.guides(frame)?;
    let weight = |level: usize, guide: &Image, p: [usize; 2], q: [usize; 2]| -> f64 {
        let mut e = 0.0;
        let mut add = |image: &Image, stop: f32| {
            for k in 0..image.channels() {
                let d = f64::from(image.get(p[0], p[1], k) - image.get(q[0], q[1], k));
                e -= (d * f64::from(stop)).powi(2);
            }
        };
        if let Some(stop) = around.color_stop(level) {
            add(guide, stop);
        }
        let stops = around.stops(level);
        for (image, first) in &guides {
            add(image, stops[*first]);
        }
        e.exp()
    };
    let levels = around.levels();
    let stopped = (0..levels).any(|l| around.color_stop(l).is_some()) || !guides.is_empty();
    let made = lifted(&light, wavelet, levels, stopped.then_some(&weight as _));
    around.shaded(frame, made)
}
