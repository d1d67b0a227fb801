//! The bilateral and the multilateral filter over the whole window.
//!
//! One level of the à-trous filter, with a large Gaussian kernel instead of several levels: no σ can shrink from level to
//! level here.

use super::options::guided_options;
use limpid::conformance::{Define, Examples};
use limpid::method::atrous::{Around, Atrous};
use limpid::method::{Backend, Entry, Method, Schedule, Use};
use limpid::plan::Plan;
use limpid::{Error, Frame, Result, Shape};

pub(super) const BILATERAL: Entry = Entry::new(
    "bilateral",
    Use::Denoise,
    "the full bilateral filter, to compare with",
    || Box::new(Bilateral::default()),
);

pub(super) const MULTILATERAL: Entry = Entry::new(
    "multilateral",
    Use::Denoise,
    "the full bilateral filter with features, to compare with",
    || Box::new(Multilateral::default()),
);

limpid::options! {
    /// The bilateral filter with its options.
    pub struct Bilateral {
        /// Pixels to each side of the window.
        pub radius: usize = 16,
        /// Differences of colour above this stop the filter; by the image when not given.
        pub sigma_color: Option<f32> = None,
        /// Do not divide by albedo before and multiply after.
        pub no_demodulate: bool = false,
        /// Do not dim pixels that are far brighter than all around them.
        pub no_firefly_guard: bool = false,
    }
}

guided_options! {
    /// The multilateral filter with its options.
    Multilateral {
        /// Pixels to each side of the window.
        pub radius: usize = 16,
    }
}

/// `exp(-i² / 2σ²)` with σ half the radius, adding up to 1.
fn taps(radius: usize) -> Result<Vec<f32>> {
    if !(1..=64).contains(&radius) {
        return Err(Error::option("radius", radius, "1 … 64"));
    }
    let sigma = (radius as f64 / 2.0).max(0.5);
    let weight = |i: i64| (-0.5 * (i as f64 / sigma).powi(2)).exp();
    let r = radius as i64;
    let sum: f64 = (-r..=r).map(weight).sum();
    Ok((-r..=r).map(|i| (weight(i) / sum) as f32).collect())
}

impl Bilateral {
    fn atrous(&self) -> Atrous {
        Atrous::with(|m| {
            m.levels = 1;
            // Without any σ the à-trous filter would take all it can find.
            m.sigma_color = Some(self.sigma_color.unwrap_or(1.0));
            m.no_demodulate = self.no_demodulate;
            m.no_firefly_guard = self.no_firefly_guard;
        })
    }
}

impl Multilateral {
    fn levels_used(&self) -> usize {
        1
    }
}

/// σ of colour for one level: what the à-trous filter has in the middle of its levels.
const LEVEL: f32 = 0.25;

macro_rules! window_method {
    ($name:ident, $entry:ident, $measure:expr, $examples:expr) => {
        impl Method for $name {
            fn name(&self) -> &'static str {
                $entry.name
            }

            fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
                let mut made = self.clone();
                $measure(&mut made, frame)?;
                Ok(Box::new(made))
            }

            fn schedules(&self, on: Backend) -> Vec<Schedule> {
                Around::schedules(on)
            }

            fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
                let around = Around::new(&self.atrous(), shape)?;
                let around = around.with_taps(taps(self.radius)?);
                around.plan($entry.name, shape, schedule)
            }

            fn boxed(&self) -> Box<dyn Method> {
                Box::new(self.clone())
            }
        }

        impl Define for $name {
            fn define(&self, frame: &Frame) -> Result<Frame> {
                let around = Around::new(&self.atrous(), &frame.shape())?;
                around.with_taps(taps(self.radius)?).define(frame)
            }
        }

        impl Examples for $name {
            fn examples(&self) -> Vec<Box<dyn Method>> {
                $examples
            }
        }
    };
}

window_method!(
    Bilateral,
    BILATERAL,
    |method: &mut Bilateral, frame: &Frame| {
        if method.sigma_color.is_none() {
            let mut found = Atrous::with(|m| m.no_demodulate = method.no_demodulate);
            Around::find_sigmas(&mut found, frame)?;
            method.sigma_color = found.sigma_color.map(|s| s * LEVEL);
        }
        Ok(())
    },
    vec![Box::new(Bilateral {
        radius: 3,
        ..Bilateral::default()
    })]
);

window_method!(
    Multilateral,
    MULTILATERAL,
    |method: &mut Multilateral, frame: &Frame| method.find_sigmas(frame, LEVEL),
    vec![Box::new(Multilateral {
        radius: 3,
        ..Multilateral::default()
    })]
);
