//! Temporal anti-aliasing: jittered frames are blended over time, and history is clipped to the colour range of each frame.
//!
//! The definition is `definition::taa`. Schedules: `fused` computes mean and deviation in the pass that uses them; `passes`
//! computes them first, with the best schedule of [`crate::method::Variance`]; `quad` (GPU) computes them in a fragment shader
//! whose quads share their sums.

use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Error, Frame, Kind, Layer, Result, Shape};
use limpid_kernel_photo::window::{Exchange, Filter, Walk, Window, margin};
use limpid_kernel_render::taa::{Resolve, to_ycocg};
use limpid_plan::texture::{FromTexture, ToTexture};
use limpid_plan::{Backing, Element, Plan, Role, Slot, SlotId};
use limpid_reference::definition;
use limpid_reference::definition::taa::Settings;

/// Temporal anti-aliasing in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "taa",
    Use::Denoise,
    "Temporal anti-aliasing of a sequence, history clipped by the variance of the neighbourhood",
    || Box::new(Taa::default()),
)
.advised(&[(
    InputKind::RenderedSequence,
    "anti-aliasing over time only, for frames with little noise",
)])
.over_time();

crate::choice! {
    /// Where mean and deviation are computed.
    enum TaaSchedule {
        /// In the pass that uses them.
        Fused = "fused",
        /// First, in separate passes.
        Passes = "passes",
        /// GPU: first, in a fragment shader whose quads share their sums.
        Quad = "quad",
    }
}

crate::options! {
    /// Temporal anti-aliasing with its options.
    ///
    /// Reads colour and, if it exists, motion. The first frame is unchanged, unless it is softened.
    pub struct Taa {
        /// Half the size of the box that history is clipped to, in standard deviations: 0.75 to 1.25 are usual.
        pub gamma: f32 = 1.0,
        /// Share of the new frame in the result.
        pub blend: f32 = 0.1,
        /// Radius of the window of mean and deviation, in pixels.
        pub radius: usize = 1,
        /// How strongly bright colours are compressed while frames are blended: 0 for none; 1 to 3 for linear light with visible
        /// lamps, whose edges would otherwise bleed.
        pub highlights: f32 = 0.0,
        /// Weight of neighbours of a pixel without history: 0 for none; 0.25 if one sample leaves ragged edges.
        pub soften: f32 = 0.0,
        /// Read the last result through Catmull-Rom splines: sharper where the camera moves.
        pub cubic: bool = false,
    }
}

/// The sample position of the camera in frame `index`: offsets from the pixel centre in -0.5 … 0.5, x and y.
///
/// Points of the Halton sequences with bases 2 and 3, eight of them in turn. A renderer shifts its image by these; motion
/// vectors do not include them.
///
/// ```
/// use limpid::method::taa::jitter;
/// assert_eq!(jitter(0), [0.0, 1.0 / 3.0 - 0.5]);
/// assert_eq!(jitter(3), jitter(11));
/// ```
pub fn jitter(index: usize) -> [f32; 2] {
    let radical = |base: usize| {
        let (mut n, mut place, mut value) = (index % 8 + 1, 1.0, 0.0);
        while n > 0 {
            place /= base as f32;
            value += place * (n % base) as f32;
            n /= base;
        }
        value - 0.5
    };
    [radical(2), radical(3)]
}

impl Taa {
    fn settings(&self) -> Result<Settings> {
        let wrong = |name: &str, value: f32, what: &str| Err(Error::option(name, value, what));
        if !(self.gamma > 0.0 && self.gamma <= 1e6) {
            return wrong("gamma", self.gamma, "a number above 0");
        }
        if !(0.0..=1.0).contains(&self.blend) {
            return wrong("blend", self.blend, "0 … 1");
        }
        if !(0.0..=1e3).contains(&self.highlights) {
            return wrong("highlights", self.highlights, "0 … 1000");
        }
        if !(0.0..=1.0).contains(&self.soften) {
            return wrong("soften", self.soften, "0 … 1");
        }
        if self.radius > 64 {
            return wrong("radius", self.radius as f32, "at most 64");
        }
        Ok(Settings {
            radius: self.radius,
            gamma: self.gamma,
            blend: self.blend,
            chroma: 0.0,
            discount: false,
            highlights: self.highlights,
            soften: self.soften,
            cubic: self.cubic,
        })
    }

    /// Mean and deviation in separate slots.
    fn statistics(&self, plan: &mut Plan, color: SlotId, quad: bool) -> [SlotId; 2] {
        let planes = plan.at(color).planes;
        let converted = plan.transient("ycocg", planes);
        let made = [
            plan.transient("mean", planes),
            plan.transient("deviation", planes),
        ];
        plan.pass(to_ycocg(planes, self.highlights), [color], [converted]);
        let window = |walk| Window {
            filter: Filter::Variance,
            radius: self.radius,
            walk,
        };
        if !quad {
            plan.pass(window(Walk::Separable), [converted], made);
            return made;
        }
        let texture = |plan: &mut Plan, name: &str, size| {
            let slot = Slot::new(name, Role::Transient, size, 1).element(Element::F32x4);
            plan.slot(slot.backing(Backing::Texture))
        };
        let size = plan.size();
        let texels = texture(plan, "texels", margin(size, self.radius));
        let drawn = [
            texture(plan, "drawn mean", size),
            texture(plan, "drawn deviation", size),
        ];
        let to = ToTexture {
            margin: self.radius,
        };
        plan.pass(to, [converted], [texels]);
        let (exchange, coarse) = (Exchange::Sums, false);
        plan.pass(window(Walk::Quad { exchange, coarse }), [texels], drawn);
        for (from, to) in drawn.into_iter().zip(made) {
            plan.pass(FromTexture, [from], [to]);
        }
        made
    }
}

impl Method for Taa {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        use TaaSchedule::{Fused, Passes, Quad};
        match on {
            Backend::Cpu => Schedule::list(on, [Passes, Fused]),
            Backend::Gpu => Schedule::list(on, [Fused, Passes, Quad]),
        }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let step = self.settings()?;
        let mut plan = Plan::new(format!("taa {schedule}"), shape.size);
        let planes = shape.require(&Layer::COLOR)?;
        let color = plan.input(Layer::COLOR, planes);
        let output = plan.output(Layer::COLOR, planes);
        let history = plan.history("last result", planes + 1);
        let result = plan.history("result", planes + 1);
        plan.swap(result, history);
        let mut reads = vec![color, history];
        let schedule: TaaSchedule = schedule.choice()?;
        let fused = schedule == TaaSchedule::Fused;
        if !fused {
            reads.extend(self.statistics(&mut plan, color, schedule == TaaSchedule::Quad));
        }
        let motion = shape.has(Kind::Motion);
        if motion {
            reads.push(plan.input(Kind::Motion, 2));
        }
        let resolve = Resolve {
            nearest: false,
            cubic: step.cubic,
            gamma: step.gamma,
            blend: step.blend,
            chroma: step.chroma,
            discount: step.discount,
            highlights: step.highlights,
            soften: step.soften,
            window: fused.then_some(step.radius),
            motion,
            history: true,
        };
        plan.pass(resolve, reads, [output, result]);
        Ok(plan)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Taa {
    /// The first frame of a sequence.
    fn define(&self, frame: &Frame) -> Result<Frame> {
        let step = self.settings()?;
        Frame::new(definition::taa::taa(
            frame.color()?,
            frame.get(Kind::Motion),
            None,
            step,
        ))
    }
}

impl Examples for Taa {}
