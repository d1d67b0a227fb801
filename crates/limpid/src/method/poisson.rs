//! Screened Poisson reconstruction of gradient-domain renders.
//!
//! The definition is `definition::poisson`. The schedule `multigrid` solves by preconditioned conjugate gradients
//! until the residual is small; `dct` solves the least-squares fit directly; `plain` is conjugate gradients without a
//! preconditioner, as in the thesis, for comparison.

pub(super) mod build;

use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Error, Frame, Kind, Result, Shape};
use limpid_plan::Plan;
use limpid_reference::definition::poisson::Problem;

/// Poisson reconstruction in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "poisson",
    Use::Reconstruct,
    "Base image and differences by a screened Poisson fit",
    || Box::new(Poisson::default()),
)
.advised(&[(
    InputKind::Gradients,
    "default: combines colour and its differences",
)]);

crate::choice! {
    /// Which errors are minimised.
    pub enum Norm {
        /// Absolute errors: outliers in the differences do not spread.
        L1 = "l1",
        /// Squared errors: unbiased.
        L2 = "l2",
    }
}

crate::choice! {
    /// How a system is solved.
    pub(super) enum PoissonSchedule {
        /// CPU, least squares only: by cosine transforms.
        Dct = "dct",
        /// Conjugate gradients with a multigrid cycle as preconditioner.
        Multigrid = "multigrid",
        /// Conjugate gradients alone.
        Plain = "plain",
    }
}

crate::options! {
    /// Poisson reconstruction with its options.
    pub struct Poisson {
        /// Which errors are minimised: l1 keeps outliers from spreading, l2 is unbiased.
        pub norm: Norm = Norm::L1,
        /// Weight of the base image: a larger value keeps more of its noise, a smaller one lets colours drift.
        pub alpha: f32 = 0.2,
        /// Residual at which a solve ends, as a share of the right-hand side.
        pub tolerance: f32 = 1e-6,
    }
}

impl Poisson {
    fn check(&self) -> Result<()> {
        for (name, value) in [("alpha", self.alpha), ("tolerance", self.tolerance)] {
            if value.is_nan() || value <= 0.0 || value.is_infinite() {
                return Err(Error::option(name, value, "a number above 0"));
            }
        }
        Ok(())
    }
}

impl Method for Poisson {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        match (on, self.norm) {
            (Backend::Cpu, Norm::L2) => Schedule::list(
                on,
                [
                    PoissonSchedule::Dct,
                    PoissonSchedule::Multigrid,
                    PoissonSchedule::Plain,
                ],
            ),
            _ => Schedule::list(on, [PoissonSchedule::Multigrid, PoissonSchedule::Plain]),
        }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        self.check()?;
        build::plan(self, shape, schedule)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Poisson {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        self.check()?;
        let problem = Problem {
            base: frame.color()?,
            dx: frame.require(Kind::Dx)?,
            dy: frame.require(Kind::Dy)?,
            alpha: f64::from(self.alpha),
        };
        Frame::new(match self.norm {
            Norm::L1 => problem.l1(),
            Norm::L2 => problem.l2(),
        })
    }
}

impl Examples for Poisson {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let with = |norm| {
            Box::new(Self {
                norm,
                ..self.clone()
            }) as Box<dyn Method>
        };
        vec![with(Norm::L1), with(Norm::L2)]
    }
}
