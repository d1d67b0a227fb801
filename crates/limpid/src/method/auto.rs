//! The choice among methods when none is named: by the layers that are there.

use super::nfor::Nfor;
use super::{Backend, Entry, Knob, Knobs, METHODS, Method, Schedule, Use, nfor};
use crate::plan::Plan;
use crate::{Error, Frame, Kind, Layer, Part, Result, Shape};

crate::choice! {
    /// How much time is spent.
    pub enum Quality {
        /// Little: `atrous` for renders.
        Fast = "fast",
        /// Some: `nfor` for renders.
        Good = "good",
        /// What it takes.
        Best = "best",
    }
}

/// The method to take for frames of this shape: `nfor` for renders, which have features or halves, and `atrous` where it must be
/// fast; `svgf` for sequences of them with motion; `eaw` for photographs.
pub fn suggest(shape: &Shape, sequence: bool, quality: Quality) -> Option<&'static Entry> {
    let features = [Kind::Normal, Kind::Albedo, Kind::Position, Kind::Depth];
    let guided = features.into_iter().any(|k| shape.has(k));
    let halves = shape.has(Layer::new(Kind::Color, Part::HalfB));
    let name = match (guided || halves, quality) {
        (true, _) if sequence && shape.has(Kind::Motion) => "svgf",
        (true, Quality::Fast) => "atrous",
        (true, _) => "nfor",
        (false, _) => "eaw",
    };
    METHODS
        .iter()
        .find(|e| e.used == Use::Denoise && e.name == name)
}

crate::options! {
    /// What is asked of the method that is chosen.
    pub struct Wishes {
        /// How much time is spent: fast, good or best.
        pub quality: Quality = Quality::Best,
        /// What nfor writes: color, or all with the estimated error and the shares of the candidates.
        pub layers: nfor::Layers = nfor::Layers::Color,
    }
}

/// Takes the method that [`suggest`] names, with its default options.
#[derive(Debug, Default)]
pub struct Auto {
    /// What is asked of it.
    pub wishes: Wishes,
    /// Whether frames of a sequence come one after the other.
    sequence: bool,
    chosen: Option<Box<dyn Method>>,
}

impl Auto {
    /// For frames of a sequence, one after the other.
    pub fn sequence() -> Self {
        Self {
            sequence: true,
            ..Self::default()
        }
    }

    fn of(&self, shape: &Shape) -> Result<Box<dyn Method>> {
        let quality = self.wishes.quality;
        let entry = suggest(shape, self.sequence, quality)
            .ok_or_else(|| Error::unsupported("no method fits this frame; name one"))?;
        if entry.name == nfor::ENTRY.name {
            let mut method = Nfor::default();
            if quality == Quality::Good {
                method.options.quality = nfor::Quality::Good;
            }
            method.options.layers = self.wishes.layers;
            return Ok(Box::new(method));
        }
        Ok((entry.make)())
    }

    fn chosen(&self, shape: &Shape) -> Result<Box<dyn Method>> {
        match &self.chosen {
            Some(method) => Ok(method.boxed()),
            None => self.of(shape),
        }
    }
}

impl Knobs for Auto {
    fn knobs(&self) -> Vec<Knob> {
        match &self.chosen {
            Some(method) => method.knobs(),
            None => self.wishes.knobs(),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.wishes.set(name, value)
    }
}

impl Method for Auto {
    fn name(&self) -> &'static str {
        self.chosen.as_ref().map_or("auto", |m| m.name())
    }

    fn prepare(&mut self, frame: &Frame) -> Result<()> {
        let mut method = self.of(&frame.shape())?;
        method.prepare(frame)?;
        self.chosen = Some(method);
        Ok(())
    }

    fn seen(&self) -> Option<String> {
        self.chosen.as_ref().and_then(|m| m.seen())
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        let chosen = self.chosen.as_ref();
        chosen.map(|m| m.schedules(on)).unwrap_or_default()
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        self.chosen(shape)?.plan(shape, schedule)
    }

    fn define(&self, frame: &Frame) -> Result<Frame> {
        self.chosen(&frame.shape())?.define(frame)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(Self {
            wishes: self.wishes.clone(),
            sequence: self.sequence,
            chosen: self.chosen.as_ref().map(|m| m.boxed()),
        })
    }
}
