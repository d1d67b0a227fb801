//! The choice among methods when none is named: by the layers that are there.

use super::{Backend, Entry, Knob, Knobs, METHODS, Method, Schedule, Use};
use crate::plan::Plan;
use crate::{Error, Frame, Kind, Result, Shape};

/// The method to take for frames of this shape: `atrous` where features can guide it, `eaw` for photographs.
pub fn suggest(shape: &Shape) -> Option<&'static Entry> {
    let guided = [Kind::Normal, Kind::Albedo, Kind::Position, Kind::Depth]
        .into_iter()
        .any(|k| shape.has(k));
    let order: &[&str] = if guided { &["atrous"] } else { &["eaw", "nlm"] };
    order.iter().find_map(|name| {
        METHODS
            .iter()
            .find(|e| e.used == Use::Denoise && e.name == *name)
    })
}

/// Takes the method that [`suggest`] names, with its default options.
#[derive(Debug, Default)]
pub struct Auto(Option<Box<dyn Method>>);

impl Auto {
    fn of(shape: &Shape) -> Result<Box<dyn Method>> {
        let entry = suggest(shape)
            .ok_or_else(|| Error::unsupported("no method fits this frame; name one"))?;
        Ok((entry.make)())
    }
}

impl Knobs for Auto {
    fn knobs(&self) -> Vec<Knob> {
        self.0.as_ref().map(|m| m.knobs()).unwrap_or_default()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match &mut self.0 {
            Some(method) => method.set(name, value),
            None => Err(Error::input(format!(
                "--{name}: name a method to set its options"
            ))),
        }
    }
}

impl Method for Auto {
    fn name(&self) -> &'static str {
        self.0.as_ref().map_or("auto", |m| m.name())
    }

    fn prepare(&mut self, frame: &Frame) -> Result<()> {
        let mut method = Self::of(&frame.shape())?;
        method.prepare(frame)?;
        self.0 = Some(method);
        Ok(())
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        self.0.as_ref().map(|m| m.schedules(on)).unwrap_or_default()
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        match &self.0 {
            Some(method) => method.plan(shape, schedule),
            None => Self::of(shape)?.plan(shape, schedule),
        }
    }

    fn define(&self, frame: &Frame) -> Result<Frame> {
        match &self.0 {
            Some(method) => method.define(frame),
            None => Self::of(&frame.shape())?.define(frame),
        }
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(Self(self.0.as_ref().map(|m| m.boxed())))
    }
}
