//! Implementation choices of a method: layouts, tiles, fusion, scheme, storage type.

use super::{Backend, Method};
use crate::{DeviceLimits, Error, Result};
use std::any::Any;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// How a method is mapped to a back end: a value of the method's own type, which can be printed and parsed.
///
/// A method lists its schedules in [`Method::schedules`]; their type is private to it. [`schedule`] finds one by name.
#[derive(Clone)]
pub struct Schedule {
    on: Backend,
    name: String,
    choice: Arc<dyn Any + Send + Sync>,
    halves: bool,
}

impl Schedule {
    /// A method's choice for a back end.
    pub fn new<C>(on: Backend, choice: C) -> Self
    where
        C: fmt::Display + FromStr + PartialEq + Any + Send + Sync,
    {
        let name = choice.to_string();
        debug_assert!(
            name.parse::<C>().is_ok_and(|c| c == choice),
            "{name} does not parse"
        );
        Self {
            on,
            name,
            choice: Arc::new(choice),
            halves: false,
        }
    }

    /// Several choices for a back end, the best first.
    pub fn list<C>(on: Backend, choices: impl IntoIterator<Item = C>) -> Vec<Self>
    where
        C: fmt::Display + FromStr + PartialEq + Any + Send + Sync,
    {
        choices.into_iter().map(|c| Self::new(on, c)).collect()
    }

    /// Choices in half precision, the best first, then others. Those in half precision are the default only on devices that compute
    /// with half floats; on others, which unpack them, results are in single precision unless asked otherwise.
    pub fn list_halves<C>(
        on: Backend,
        halves: impl IntoIterator<Item = C>,
        others: impl IntoIterator<Item = C>,
    ) -> Vec<Self>
    where
        C: fmt::Display + FromStr + PartialEq + Any + Send + Sync,
    {
        let mut all = Self::list(on, halves);
        for schedule in &mut all {
            schedule.halves = true;
        }
        all.extend(Self::list(on, others));
        all
    }

    /// Whether a device may use it without being asked to.
    pub fn suits(&self, limits: DeviceLimits) -> bool {
        match limits {
            DeviceLimits::Cpu => true,
            DeviceLimits::Gpu(target) => !self.halves || target.f16,
        }
    }

    /// The choice. The schedule of a different method is an error.
    pub fn choice<C: Any + Clone>(&self) -> Result<C> {
        let own = self.choice.downcast_ref::<C>().cloned();
        own.ok_or_else(|| Error::input(format!("schedule '{self}' belongs to another method")))
    }

    /// The back end it is for.
    pub fn backend(&self) -> Backend {
        self.on
    }

    /// Its name: components joined by colons, such as `two-pass` or `permuted:ascending:exact:tile`.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        (self.on, &self.name) == (other.on, &other.name)
            && self.choice.as_ref().type_id() == other.choice.as_ref().type_id()
    }
}

impl Eq for Schedule {}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({} {})", self.on, self.name)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Selects the schedule of a method.
///
/// ```
/// use limpid::method::{Backend, Gaussian, ScheduleChoice};
/// let mut pick = ScheduleChoice::from("two-pass");
/// pick.look_up(&Gaussian::default(), Backend::Cpu)?;
/// assert!(matches!(pick, ScheduleChoice::Explicit(_)));
/// # Ok::<(), limpid::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleChoice {
    /// The first that the method lists and that suits the device.
    #[default]
    Default,
    /// The fastest, by measurement; see [`crate::tune`].
    Fastest,
    /// The one with this name, if the method is not known yet.
    ByName(String),
    /// This one.
    Explicit(Schedule),
}

impl ScheduleChoice {
    /// Resolves a name to the method's schedule.
    pub fn look_up(&mut self, method: &dyn Method, on: Backend) -> Result<()> {
        if let Self::ByName(name) = self {
            *self = Self::Explicit(schedule(method, on, name)?);
        }
        Ok(())
    }

    /// The schedule for a back end; until measured, `Fastest` is the default one.
    pub(crate) fn resolve(&self, method: &dyn Method, limits: DeviceLimits) -> Result<Schedule> {
        let on = limits.backend();
        match self {
            Self::ByName(name) => schedule(method, on, name),
            Self::Explicit(schedule) if schedule.backend() == on => Ok(schedule.clone()),
            Self::Explicit(schedule) => Err(misplaced(method, schedule, on)),
            Self::Default | Self::Fastest => {
                let mut all = method.schedules(on).into_iter();
                all.find(|s| s.suits(limits)).ok_or_else(|| {
                    Error::unsupported(format!("{} has no schedule for {on}", method.name()))
                })
            }
        }
    }
}

/// A schedule by name; `auto` is the fastest.
impl From<&str> for ScheduleChoice {
    fn from(name: &str) -> Self {
        match name {
            "auto" => Self::Fastest,
            name => Self::ByName(name.to_owned()),
        }
    }
}

impl From<Schedule> for ScheduleChoice {
    fn from(schedule: Schedule) -> Self {
        Self::Explicit(schedule)
    }
}

/// The schedule with this name, or an error with the nearest names.
pub fn schedule(method: &dyn Method, on: Backend, name: &str) -> Result<Schedule> {
    if let Some(found) = find(method, on, name) {
        return found;
    }
    let other = match on {
        Backend::Cpu => Backend::Gpu,
        Backend::Gpu => Backend::Cpu,
    };
    if let Some(Ok(elsewhere)) = find(method, other, name) {
        return Err(misplaced(method, &elsewhere, on));
    }
    let what = format!("{on} schedule of {}", method.name());
    let known = method.schedules(on);
    Err(Error::unknown(
        &what,
        name,
        known.iter().map(Schedule::as_str),
    ))
}

/// The listed schedule with this name, or one that the method makes of it.
fn find(method: &dyn Method, on: Backend, name: &str) -> Option<Result<Schedule>> {
    let found = method
        .schedules(on)
        .into_iter()
        .find(|s| s.as_str() == name);
    found.map(Ok).or_else(|| method.schedule(on, name))
}

/// A schedule that exists, but not on this back end.
fn misplaced(method: &dyn Method, schedule: &Schedule, on: Backend) -> Error {
    Error::unsupported(format!(
        "schedule '{schedule}' of {} is for the {}, not for the {on}",
        method.name(),
        schedule.backend()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{Dwt, Gaussian, Taa};
    use crate::{Shape, Size};

    #[test]
    fn the_schedule_of_another_method_is_refused() {
        let other = Taa::default().schedules(Backend::Cpu).remove(0);
        let shape = Shape::color(Size::new(4, 4), 3);
        let error = Gaussian::default().plan(&shape, &other).unwrap_err();
        assert!(error.to_string().contains("another method"), "{error}");
    }

    #[test]
    fn half_precision_is_the_default_only_where_shaders_compute_with_it() {
        use crate::method::{Camera, Ensemble, Neural};
        use limpid_plan::Target;
        let with = |f16| DeviceLimits::Gpu(Target::with(|t| t.f16 = f16));
        let methods: [(Box<dyn Method>, &str); 3] = [
            (Box::new(Neural::default()), "matrix"),
            (Box::new(Camera::default()), "matrix"),
            (Box::new(Ensemble::default()), "usual"),
        ];
        for (method, first) in methods {
            let picked = |choice: ScheduleChoice, limits| {
                let schedule = choice.resolve(method.as_ref(), limits).unwrap();
                schedule.to_string()
            };
            assert_eq!(picked(ScheduleChoice::Default, with(true)), first);
            assert_eq!(picked(ScheduleChoice::Default, with(false)), "full");
            // By name it is still to be had.
            assert_eq!(picked(first.into(), with(false)), first);
        }
    }

    #[test]
    fn the_schedule_of_another_back_end_is_refused() {
        let method = Gaussian::default();
        let pick = ScheduleChoice::from(method.schedules(Backend::Gpu).remove(0));
        let gpu = DeviceLimits::Gpu(limpid_plan::Target::BASE);
        assert!(pick.resolve(&method, gpu).is_ok());
        let error = pick.resolve(&method, DeviceLimits::Cpu).unwrap_err();
        assert!(error.to_string().contains("is for the gpu"), "{error}");
        // By name too, listed or not.
        let transform = Dwt::default();
        for name in ["lifting*:shuffle", "separable-lifting:pipeline-2"] {
            assert!(schedule(&transform, Backend::Gpu, name).is_ok(), "{name}");
            let error = schedule(&transform, Backend::Cpu, name).unwrap_err();
            assert!(error.to_string().contains("is for the gpu"), "{error}");
        }
    }
}
