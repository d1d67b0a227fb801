//! The wavelet transform and its inverse, as filters of an image: coefficients fill an image of the same size.
//!
//! The definition is [`crate::definition::dwt`]. On the CPU there is one schedule, `fused`: rows and columns in one pass
//! over memory. On the GPU the schedules are the twenty schemes of Kula 2021, table 11.1.

use super::{Backend, Entry, Method, Schedule, Use};
use crate::definition::dwt::{Dwt as Definition, Layout};
use crate::kernel::dwt::{Level, keeps_mirrored};
use crate::plan::{Plan, Role, Slot, SlotId};
use crate::wavelet::{Border, Direction, Form, Kind, Lifting, Normalisation, SchemeName, Wavelet};
use crate::{Error, Frame, Layer, Result, Shape, Size};

/// The transform and its inverse in the list of methods.
pub(super) const ENTRIES: [Entry; 2] = [
    Entry {
        name: "dwt",
        used: Use::Filter,
        about: "wavelet transform, sub-bands in one image",
        make: || Box::new(Dwt::default()),
    },
    Entry {
        name: "idwt",
        used: Use::Filter,
        about: "inverse wavelet transform",
        make: || Box::new(Idwt::default()),
    },
];

crate::choice! {
    /// How large coefficients are.
    pub enum Scale {
        /// Energy is kept as far as the wavelet is orthogonal.
        Orthonormal = "orthonormal",
        /// `LL` of a constant is the constant, as in JPEG 2000.
        Unit = "unit",
    }
}

crate::options! {
    /// The wavelet transform with its options.
    pub struct Dwt {
        /// Name of the wavelet: haar, cdf53, cdf97, dd137, b3, db2, sym4, bior4.4, ….
        pub wavelet: String = "cdf97".to_owned(),
        /// How often the low band is transformed.
        pub levels: usize = 3,
        /// The size of coefficients.
        pub scale: Scale = Scale::Orthonormal,
    }
}

crate::options! {
    /// The inverse transform with its options.
    pub struct Idwt {
        /// Name of the wavelet.
        pub wavelet: String = "cdf97".to_owned(),
        /// How often the low band was transformed.
        pub levels: usize = 3,
        /// The size of coefficients.
        pub scale: Scale = Scale::Orthonormal,
    }
}

/// Options, looked up.
pub(super) struct Ready {
    pub(super) wavelet: Wavelet,
    pub(super) levels: usize,
    pub(super) normalisation: Normalisation,
}

impl Ready {
    pub(super) fn new(wavelet: &str, levels: usize, scale: Scale) -> Result<Self> {
        if !(1..=30).contains(&levels) {
            return Err(Error::input(format!("--levels {levels}: expected 1 to 30")));
        }
        let wavelet = Wavelet::named(wavelet)?;
        let normalisation = match scale {
            Scale::Orthonormal => Normalisation::Orthonormal,
            Scale::Unit => Normalisation::Unit,
        };
        Ok(Self {
            wavelet,
            levels,
            normalisation,
        })
    }

    fn lifting(&self) -> Result<&Lifting> {
        self.wavelet.lifting().ok_or_else(|| {
            Error::unsupported(format!(
                "wavelet '{}' has no well-conditioned lifting steps, which mirrored borders need",
                self.wavelet.name()
            ))
        })
    }

    pub(super) fn definition(&self) -> Definition {
        Definition {
            wavelet: self.wavelet.clone(),
            border: Border::Mirror,
            normalisation: self.normalisation,
            levels: self.levels,
        }
    }

    pub(super) fn schedules(&self, on: Backend) -> Vec<Schedule> {
        let symmetric = self.wavelet.lifting().is_some_and(keeps_mirrored);
        match on {
            Backend::Cpu => vec![Schedule::new("fused")],
            Backend::Gpu if symmetric => {
                let best = SchemeName::new(Kind::Lifting, Form::Star);
                let rest = SchemeName::all(Form::Star)
                    .into_iter()
                    .filter(|n| *n != best);
                std::iter::once(best)
                    .chain(rest)
                    .map(|n| Schedule::from(n.to_string()))
                    .collect()
            }
            Backend::Gpu => Vec::new(),
        }
    }

    /// Adds the levels between an image and its packed coefficients, either way.
    pub(super) fn levels(
        &self,
        plan: &mut Plan,
        (image, packed): (SlotId, SlotId),
        schedule: &Schedule,
        direction: Direction,
    ) -> Result<()> {
        let scheme = match schedule.as_str() {
            "fused" => SchemeName::new(Kind::SeparableLifting, Form::Basic),
            name => name.parse()?,
        };
        let level = Level::new(self.lifting()?, self.normalisation, direction, scheme);
        let half = |s: &Size| Some(Size::new(s.width.div_ceil(2), s.height.div_ceil(2)));
        let sizes: Vec<Size> = std::iter::successors(Some(plan.size), half)
            .take(self.levels)
            .collect();
        let planes = plan.at(image).planes;
        let mut lows = vec![image];
        for (i, size) in sizes.iter().enumerate().skip(1) {
            lows.push(plan.slot(Slot::new(
                format!("low {i}"),
                Role::Transient,
                *size,
                planes,
            )));
        }
        let order: Vec<usize> = match direction {
            Direction::Inverse => (0..sizes.len()).rev().collect(),
            Direction::Forward | Direction::Adjoint => (0..sizes.len()).collect(),
        };
        for i in order {
            let kernel = level.clone().sized(sizes[i], i + 1 == sizes.len());
            let other = lows.get(i + 1).copied();
            let with = |first| std::iter::once(first).chain(other).collect::<Vec<_>>();
            match direction {
                Direction::Inverse => plan.pass(kernel, with(packed), vec![lows[i]]),
                Direction::Forward | Direction::Adjoint => {
                    plan.pass(kernel, vec![lows[i]], with(packed));
                }
            }
        }
        Ok(())
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule, direction: Direction) -> Result<Plan> {
        let planes = shape
            .channels(&Layer::COLOR)
            .ok_or_else(|| Error::input("a wavelet transform needs the layer 'color'"))?;
        let mut plan = Plan::new(format!("{} {schedule}", self.wavelet.name()), shape.size);
        let source = plan.input(Layer::COLOR, planes);
        let result = plan.output(Layer::COLOR, planes);
        let slots = match direction {
            Direction::Inverse => (result, source),
            Direction::Forward | Direction::Adjoint => (source, result),
        };
        self.levels(&mut plan, slots, schedule, direction)?;
        Ok(plan)
    }
}

/// The two directions differ in little.
macro_rules! transform {
    ($name:ident, $text:literal, $direction:expr, $define:expr) => {
        impl $name {
            fn ready(&self) -> Result<Ready> {
                Ready::new(&self.wavelet, self.levels, self.scale)
            }
        }

        impl Method for $name {
            fn name(&self) -> &'static str {
                $text
            }

            fn schedules(&self, on: Backend) -> Vec<Schedule> {
                self.ready().map(|r| r.schedules(on)).unwrap_or_default()
            }

            fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
                self.ready()?.plan(shape, schedule, $direction)
            }

            fn define(&self, frame: &Frame) -> Result<Frame> {
                let define: fn(&Definition, &crate::Image) -> Result<crate::Image> = $define;
                Frame::new(define(
                    &self.ready()?.definition(),
                    frame.require(Layer::COLOR)?,
                )?)
            }

            fn examples(&self) -> Vec<Box<dyn Method>> {
                let with = |wavelet: &str, levels, scale| {
                    Box::new(Self {
                        wavelet: wavelet.to_owned(),
                        levels,
                        scale,
                    }) as Box<dyn Method>
                };
                vec![
                    with("cdf97", 2, Scale::Orthonormal),
                    with("dd137", 1, Scale::Unit),
                ]
            }

            fn boxed(&self) -> Box<dyn Method> {
                Box::new(self.clone())
            }
        }
    };
}

transform!(Dwt, "dwt", Direction::Forward, |dwt, image| {
    dwt.pack(&dwt.forward(image)?, Layout::Subbands)
});
transform!(Idwt, "idwt", Direction::Inverse, |dwt, image| {
    dwt.inverse(&dwt.unpack(image, image.size(), Layout::Subbands)?)
});
