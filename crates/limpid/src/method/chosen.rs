//! The method that was chosen for a frame.

use super::{Backend, Method, NamedOptions, OptionInfo, Ordered, Schedule};
use crate::conformance::{self, Define};
use crate::{Frame, Result, Shape};
use limpid_plan::Plan;

/// A method that [`super::Auto`] has chosen.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(super) method: Box<dyn Method>,
    /// Whether the frame counts as a render only because its colour is scene-linear.
    pub(super) assumed: bool,
    /// See [`Method::blend_amounts`].
    pub(super) amounts: [f32; 2],
}

impl NamedOptions for Chosen {
    fn named_options(&self) -> Vec<OptionInfo> {
        self.method.named_options()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.method.set(name, value)
    }
}

impl Method for Chosen {
    fn name(&self) -> &'static str {
        self.method.name()
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        Ok(Box::new(Self {
            method: self.method.prepared(frame)?,
            ..*self
        }))
    }

    fn prepared_for_film(&self, frame: &Frame, after: &Frame) -> Result<Box<dyn Method>> {
        Ok(Box::new(Self {
            method: self.method.prepared_for_film(frame, after)?,
            ..*self
        }))
    }

    fn measures_pairs(&self, shape: &Shape) -> bool {
        self.method.measures_pairs(shape)
    }

    fn measures_every_frame(&self) -> bool {
        self.method.measures_every_frame()
    }

    fn is_scene_cut(&mut self, frame: &Frame) -> bool {
        self.method.is_scene_cut(frame)
    }

    fn lookahead(&self) -> usize {
        self.method.lookahead()
    }

    fn set_lookahead(&mut self, ahead: usize, ended: usize) {
        self.method.set_lookahead(ahead, ended);
    }

    fn summary(&self) -> Option<String> {
        let summary = self.method.summary();
        match self.assumed {
            true => {
                let why = "scene-linear, so taken for a render; for a photograph choose eaw";
                Some(summary.map_or(why.into(), |s| format!("{s}: {why}")))
            }
            false => summary,
        }
    }

    fn blend_amounts(&self) -> [f32; 2] {
        self.amounts
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        self.method.schedules(on)
    }

    fn schedule(&self, on: Backend, name: &str) -> Option<Result<Schedule>> {
        self.method.schedule(on, name)
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        self.method.plan(shape, schedule)
    }

    fn tileable(&self) -> Option<Box<dyn Method>> {
        self.method.tileable()
    }

    fn ordered(&self, frame: &Frame, what: Ordered) -> Result<Option<Frame>> {
        self.method.ordered(frame, what)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(Self {
            method: self.method.boxed(),
            ..*self
        })
    }
}

impl Define for Chosen {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        conformance::define(self.method.as_ref(), frame)
    }
}
