//! The mean of [`super::neural`] and [`super::nfor`], for renders with two buffers of many samples.
//!
//! Their errors differ: one method has learned what images look like, the other is fitted to each image. The mean has a lower
//! error than either (docs/nfor.md).

use super::neural::{self, Neural, Weights};
use super::nfor::{self, Nfor};
use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Error, Frame, Image, Result, Shape};
use limpid_kernel_render::front::between;
use limpid_plan::Plan;

/// The method in the list.
pub(super) const ENTRY: Entry = Entry::new(
    "ensemble",
    Use::Denoise,
    "Mean of neural and nfor: path-traced stills with two buffers of many samples",
    || Box::new(Ensemble::default()),
)
.advised(&[(
    InputKind::Render,
    "default for two buffers of many samples: the mean of neural and nfor",
)])
.steps("quality", ["good", "good", "best"]);

crate::choice! {
    /// How it runs.
    enum EnsembleSchedule {
        /// The first schedule of each of the two methods.
        Usual = "usual",
        /// The network in single precision.
        Full = "full",
    }
}

crate::options! {
    /// The mean of two methods, with its options.
    pub struct Ensemble {
        use facts(Facts);
        /// Share of nfor in the result, 0 to 1.
        pub share: f32 = 0.5,
        /// How much time nfor may take.
        pub quality: nfor::Quality = nfor::Quality::Best,
        /// The weights of the network of neural: those of the library, or a file.
        pub weights: Weights = Weights::Builtin,
    }
}

/// The two methods with the properties of the frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Facts {
    neural: Neural,
    nfor: Nfor,
}

impl Ensemble {
    /// With the mean of turned networks.
    pub(super) fn best() -> Self {
        let mut made = Self::default();
        made.facts.neural.quality = neural::Quality::Best;
        made
    }

    /// The two methods.
    fn both(&self) -> Result<(Neural, Nfor)> {
        let share = self.share;
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::option("share", share, "0 … 1"));
        }
        let (mut neural, mut nfor) = (self.facts.neural.alone(), self.facts.nfor.clone());
        neural.weights = self.weights.clone();
        nfor.quality = self.quality;
        Ok((neural, nfor))
    }
}

/// The first schedule of a method.
fn usual(method: &dyn Method, on: Backend) -> Result<Schedule> {
    let first = method.schedules(on).into_iter().next();
    first.ok_or_else(|| Error::unsupported(format!("{} has no schedule", method.name())))
}

impl Method for Ensemble {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        let mut made = self.clone();
        made.facts.neural = self.facts.neural.measured(frame)?;
        made.facts.nfor = self.facts.nfor.measured(frame)?;
        Ok(Box::new(made))
    }

    fn summary(&self) -> Option<String> {
        self.facts.nfor.summary()
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        use EnsembleSchedule::{Full, Usual};
        match on {
            Backend::Cpu => Schedule::list(on, [Usual]),
            Backend::Gpu => Schedule::list_halves(on, [Usual], [Full]),
        }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let choice = schedule.choice::<EnsembleSchedule>()?;
        let (neural, nfor) = self.both()?;
        let on = schedule.backend();
        let of_neural = match choice {
            EnsembleSchedule::Usual => usual(&neural, on)?,
            EnsembleSchedule::Full => crate::method::schedule(&neural, on, "full")?,
        };
        let mut plan = Plan::new(format!("ensemble {schedule}"), shape.size);
        let learned = plan.absorb(neural.plan(shape, &of_neural)?);
        let fitted = plan.absorb(nfor.plan(shape, &usual(&nfor, on)?)?);
        for (layer, one) in learned {
            let other = fitted.iter().find(|(l, _)| *l == layer);
            let (_, other) =
                other.ok_or_else(|| Error::missing(layer.clone(), "nfor made none"))?;
            let output = plan.output(layer, plan.at(one).planes);
            plan.pass(between(self.share), [one, *other], [output]);
        }
        Ok(plan)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Ensemble {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        let (neural, nfor) = self.both()?;
        let (learned, fitted) = (neural.define(frame)?, nfor.define(frame)?);
        let share = self.share;
        let mut out = Frame::empty(frame.size())?;
        for (layer, one) in learned.layers() {
            let other = fitted.require(layer.clone())?;
            let made = Image::from_fn(one.width(), one.height(), one.channels(), |x, y, c| {
                let (a, b) = (one.get(x, y, c), other.get(x, y, c));
                a + (b - a) * share
            });
            out.insert(layer.clone(), made)?;
        }
        Ok(out)
    }
}

impl Examples for Ensemble {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let mut method = self.clone();
        method.facts.nfor.radius = Some(3);
        method.share = 0.3;
        vec![Box::new(method)]
    }
}
