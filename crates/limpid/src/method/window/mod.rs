//! Filters over a square window (Zubatov and Shcherbakov): [`Gaussian`], [`Tent`], [`Tent2`], [`Variance`], [`Bilateral`].
//!
//! The definitions are in `definition::window`. Schedules on the GPU:
//!
//! * `direct`: a compute shader reads the `(2r+1)²` pixels from buffers;
//! * `tile`: from workgroup memory; filters of rank one run along rows, then along columns;
//! * `two-pass`: rows, then columns, from buffers (rank one);
//! * `fragment`: a fragment shader reads `(2r+1)²` texels;
//! * `quad`: a fragment shader reads `(r+1)²` texels, and the four invocations of a quad share sums by derivatives;
//! * `quad:sums`: the same with three exchanges for any radius (rank one and two);
//! * `quad:uniform`: `quad` with texels in the paper's order (rank one and two), `quad:texels`: its naive exchange of all
//!   texels; both for comparison, radii up to 4;
//! * `linear`: two fragment passes that read two texels at once from a linear sampler (rank one);
//! * `quad-compute`: `quad:sums` in a compute shader, by quad operations.
//!
//! On the CPU: `separable` (one axis after the other in one pass over memory), `sliding` for mean and deviation, `two-pass`,
//! `direct`.
//!
//! Some variants of `WindowSchedule` are for measurements and not listed: `quad:coarse:8bit` uses coarse derivatives, which
//! produces wrong images; the suffix `:8bit` uses textures with eight bits per channel.

mod bilateral;
mod gaussian;
mod tent;
mod variance;

pub use bilateral::Bilateral;
pub use gaussian::Gaussian;
pub use tent::{Tent, Tent2};
pub use variance::{DEVIATION, Variance, deviation};

#[cfg(feature = "filters")]
use super::Entry;
use super::{Backend, Schedule};
use crate::{Error, Layer, Result, Shape, Size};
use limpid_kernel_photo::window::{
    Along, Exchange, Filter, SMALL, TILE_COLUMNS, TILE_SQUARE, Walk, Window, WindowAxis,
    WindowPack, margin,
};
use limpid_plan::texture::{FromTexture, ToTexture};
use limpid_plan::{Backing, Element, Plan, Role, Slot, SlotId};

/// The filters in the list of methods.
#[cfg(feature = "filters")]
pub(super) const ENTRIES: [Entry; 5] = [
    gaussian::ENTRY,
    tent::ENTRY,
    tent::ENTRY2,
    variance::ENTRY,
    bilateral::ENTRY,
];

crate::choice! {
    /// How a window is processed.
    #[doc(hidden)]
    pub enum WindowSchedule {
        /// One axis after the other in one pass over memory.
        Separable = "separable",
        /// CPU: sliding sums, for mean and deviation.
        Sliding = "sliding",
        /// All pixels of the window.
        Direct = "direct",
        /// GPU: from workgroup memory.
        Tile = "tile",
        /// Rows, then columns.
        TwoPass = "two-pass",
        /// GPU: a fragment shader reads all texels of the window.
        Fragment = "fragment",
        /// GPU: the four fragments of a quad share their sums, row by row.
        Quad = "quad",
        /// GPU: the four fragments of a quad share their sums, three exchanges for any radius.
        QuadSums = "quad:sums",
        /// GPU: as `quad`, with texels in the same order in all fragments.
        QuadUniform = "quad:uniform",
        /// GPU: the four fragments of a quad share their texels one by one.
        QuadTexels = "quad:texels",
        /// GPU: two fragment passes that read two texels at once.
        Linear = "linear",
        /// GPU: as `quad:sums`, in a compute shader.
        QuadCompute = "quad-compute",
        /// As `fragment`, with textures of eight bits.
        Fragment8 = "fragment:8bit",
        /// As `quad`, with textures of eight bits.
        Quad8 = "quad:8bit",
        /// As `quad:8bit`, with coarse derivatives: wrong images.
        QuadCoarse8 = "quad:coarse:8bit",
    }
}

/// A filter with its radius, ready for planning.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ready {
    filter: Filter,
    radius: usize,
}

/// A filter of rank one as part of a larger plan: both axes in one pass, or one after the other if the radius is large.
pub(super) fn separable(plan: &mut Plan, slot: SlotId, filter: Filter, radius: usize) -> SlotId {
    let out = plan.transient("filtered", plan.at(slot).planes);
    let ready = Ready { filter, radius };
    match radius <= TILE_SQUARE {
        true => ready.window(plan, Walk::Separable, slot, &[out]),
        false => ready.axes(plan, Along::Plain, slot, out),
    }
    out
}

/// The mean over a square, as part of a larger plan: a tent without slope.
pub(super) fn box_mean(plan: &mut Plan, slot: SlotId, radius: usize) -> SlotId {
    let (peak, slope) = (1.0, 0.0);
    separable(plan, slot, Filter::Tent { peak, slope }, radius)
}

/// The mean over a square, applied twice: a tent of twice the radius.
pub(super) fn box_mean_twice(plan: &mut Plan, slot: SlotId, radius: usize) -> SlotId {
    let (peak, slope) = twice(radius);
    separable(plan, slot, Filter::Tent { peak, slope }, 2 * radius)
}

/// The same on a GPU, with three planes of `colors` packed with the result into vectors of four.
pub(super) fn box_mean_twice_beside(
    plan: &mut Plan,
    [slot, colors, to]: [SlotId; 3],
    radius: usize,
) {
    let (peak, slope) = twice(radius);
    let filter = Filter::Tent { peak, slope };
    let radius = 2 * radius;
    plan.pass(WindowPack { filter, radius }, [slot, colors], [to]);
}

/// Peak and slope of a tent that is the mean over a square of this radius, twice.
pub(super) fn twice(radius: usize) -> (f32, f32) {
    (1.0, 1.0 / (2 * radius + 1) as f32)
}

/// Checks that the radius is within the supported range.
fn checked_radius(radius: usize) -> Result<usize> {
    if radius > 1024 {
        return Err(Error::option("radius", radius, "at most 1024"));
    }
    Ok(radius)
}

/// Checks that a number is above zero.
fn positive(name: &str, value: f32) -> Result<f32> {
    if value > 0.0 && value <= 1e6 {
        Ok(value)
    } else {
        Err(Error::option(
            name,
            value,
            "a number above 0 and at most 1000000",
        ))
    }
}

impl Ready {
    /// The schedules for a back end, the best first.
    fn schedules(self, on: Backend) -> Vec<Schedule> {
        let rank_one = self.filter.side(0).is_some();
        let rank_two = matches!(self.filter, Filter::Tent2 { .. });
        use WindowSchedule::{
            Direct, Fragment, Linear, Quad, QuadCompute, QuadSums, QuadTexels, QuadUniform,
            Separable, Sliding, Tile, TwoPass,
        };
        let mut all = Vec::new();
        match on {
            Backend::Cpu => match self.filter {
                Filter::Bilateral { .. } => all.push(Direct),
                Filter::Variance => all.extend([Sliding, Direct]),
                _ if rank_one => all.extend([Separable, TwoPass, Direct]),
                _ => all.extend([Separable, Direct]),
            },
            Backend::Gpu => {
                all.push(Direct);
                let fits = if rank_one { TILE_COLUMNS } else { TILE_SQUARE };
                if self.radius <= fits {
                    all.push(Tile);
                }
                all.extend([Fragment, Quad, QuadCompute]);
                if rank_one || rank_two {
                    all.push(QuadSums);
                }
                if (1..=SMALL).contains(&self.radius) {
                    all.push(QuadTexels);
                    if rank_one || rank_two {
                        all.push(QuadUniform);
                    }
                }
                if rank_one {
                    all.extend([TwoPass, Linear]);
                    if self.radius <= TILE_SQUARE {
                        all.push(Separable);
                    }
                }
                let best = self.best_on_gpu();
                all.sort_by_key(|one| *one != best);
            }
        }
        Schedule::list(on, all)
    }

    /// The fastest schedule with planar input and output, as measured on an H200 (docs/filters.md).
    fn best_on_gpu(self) -> WindowSchedule {
        use WindowSchedule::{Direct, QuadCompute, Separable, Tile, TwoPass};
        let tile = self.radius <= TILE_SQUARE;
        match (self.filter, self.radius) {
            (Filter::Gaussian { .. } | Filter::Tent { .. }, 0..=2) => QuadCompute,
            (Filter::Gaussian { .. } | Filter::Tent { .. }, 3..=6) => Separable,
            (Filter::Gaussian { .. } | Filter::Tent { .. }, 7..=TILE_COLUMNS) => Tile,
            (Filter::Gaussian { .. } | Filter::Tent { .. }, _) => TwoPass,
            (Filter::Variance, 3..) if tile => Tile,
            (Filter::Bilateral { .. }, 0..=2) => Direct,
            (Filter::Bilateral { .. }, _) if tile => Tile,
            _ => QuadCompute,
        }
    }

    /// The passes for colour of this shape.
    fn plan(self, name: &str, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let mut plan = Plan::new(format!("{name} {schedule}"), shape.size);
        let channels = shape.require(&Layer::COLOR)?;
        let input = plan.input(Layer::COLOR, channels);
        let mut outputs = vec![plan.output(Layer::COLOR, channels)];
        if self.filter.results() == 2 {
            outputs.push(plan.output(deviation(), channels));
        }
        let rank_one = self.filter.side(0).is_some();
        let quad = |exchange, coarse| Walk::Quad { exchange, coarse };
        let (walk, backing) = match schedule.choice()? {
            WindowSchedule::Tile if rank_one => {
                self.axes(&mut plan, Along::Tile, input, outputs[0]);
                return Ok(plan);
            }
            WindowSchedule::TwoPass if rank_one => {
                self.axes(&mut plan, Along::Plain, input, outputs[0]);
                return Ok(plan);
            }
            WindowSchedule::Linear if rank_one => {
                self.linear(&mut plan, input, outputs[0]);
                return Ok(plan);
            }
            WindowSchedule::TwoPass | WindowSchedule::Linear => {
                return Err(Error::unsupported(format!(
                    "{name} is not separable; '{schedule}' needs a separable filter"
                )));
            }
            WindowSchedule::Separable | WindowSchedule::Sliding => {
                (Walk::Separable, Backing::Buffer)
            }
            WindowSchedule::Direct => (Walk::Direct, Backing::Buffer),
            WindowSchedule::Tile => (Walk::Tile, Backing::Buffer),
            WindowSchedule::QuadCompute => (Walk::QuadCompute, Backing::Buffer),
            WindowSchedule::Fragment => (Walk::Fragment, Backing::Texture),
            WindowSchedule::Quad => (quad(Exchange::Rows, false), Backing::Texture),
            WindowSchedule::QuadSums => (quad(Exchange::Sums, false), Backing::Texture),
            by @ (WindowSchedule::QuadUniform | WindowSchedule::QuadTexels) => {
                let exchange = match by {
                    WindowSchedule::QuadTexels => Exchange::Texels,
                    _ => Exchange::Uniform,
                };
                if self.radius > SMALL {
                    return Err(Error::unsupported(format!(
                        "'{schedule}' is for comparison, with a radius up to {SMALL}"
                    )));
                }
                (quad(exchange, false), Backing::Texture)
            }
            WindowSchedule::Fragment8 => (Walk::Fragment, Backing::Texture8),
            WindowSchedule::Quad8 => (quad(Exchange::Rows, false), Backing::Texture8),
            WindowSchedule::QuadCoarse8 => (quad(Exchange::Rows, true), Backing::Texture8),
        };
        match backing {
            Backing::Buffer => self.window(&mut plan, walk, input, &outputs),
            _ => self.textures(&mut plan, walk, backing, (input, &outputs)),
        }
        Ok(plan)
    }

    fn window(self, plan: &mut Plan, walk: Walk, input: SlotId, outputs: &[SlotId]) {
        let kernel = Window {
            filter: self.filter,
            radius: self.radius,
            walk,
        };
        plan.pass(kernel, [input], outputs);
    }

    fn axes(self, plan: &mut Plan, along: Along, input: SlotId, output: SlotId) {
        let planes = plan.at(input).planes;
        let rows = plan.transient("rows", planes);
        plan.pass(self.axis(along, false), [input], [rows]);
        plan.pass(self.axis(along, true), [rows], [output]);
    }

    fn axis(self, along: Along, vertical: bool) -> WindowAxis {
        WindowAxis {
            filter: self.filter,
            radius: self.radius,
            vertical,
            along,
        }
    }

    fn textures(
        self,
        plan: &mut Plan,
        walk: Walk,
        backing: Backing,
        (input, outputs): (SlotId, &[SlotId]),
    ) {
        let texels = self.texels(plan, backing, input);
        let size = plan.size();
        let drawn: Vec<SlotId> = (0..outputs.len())
            .map(|i| texture(plan, &format!("drawn {i}"), size, backing))
            .collect();
        self.window(plan, walk, texels, &drawn);
        for (from, to) in drawn.iter().zip(outputs) {
            plan.pass(FromTexture, [*from], [*to]);
        }
    }

    fn linear(self, plan: &mut Plan, input: SlotId, output: SlotId) {
        let texels = self.texels(plan, Backing::Texture, input);
        let size = plan.size();
        // The second pass needs rows above and below.
        let tall = Size::new(size.width, margin(size, self.radius).height);
        let rows = texture(plan, "rows", tall, Backing::Texture);
        let drawn = texture(plan, "drawn", size, Backing::Texture);
        plan.pass(self.axis(Along::Linear, false), [texels], [rows]);
        plan.pass(self.axis(Along::Linear, true), [rows], [drawn]);
        plan.pass(FromTexture, [drawn], [output]);
    }

    /// The input as texels with a margin.
    fn texels(self, plan: &mut Plan, backing: Backing, input: SlotId) -> SlotId {
        let size = margin(plan.size(), self.radius);
        let texels = texture(plan, "texels", size, backing);
        let kernel = ToTexture {
            margin: self.radius,
        };
        plan.pass(kernel, [input], [texels]);
        texels
    }
}

fn texture(plan: &mut Plan, name: &str, size: Size, backing: Backing) -> SlotId {
    let slot = Slot::new(name, Role::Transient, size, 1);
    plan.slot(slot.element(Element::F32x4).backing(backing))
}

/// Implements [`super::Method`] for a filter that has `ready`, `defined` and `settings`.
macro_rules! window_method {
    ($kind:ty, $name:expr) => {
        impl $crate::method::Method for $kind {
            fn name(&self) -> &'static str {
                $name
            }

            fn schedules(&self, on: $crate::method::Backend) -> Vec<$crate::method::Schedule> {
                // Invalid options have no schedules; the plan reports their error.
                self.ready().map_or_else(
                    |_| {
                        let direct = $crate::method::window::WindowSchedule::Direct;
                        $crate::method::Schedule::list(on, [direct])
                    },
                    |ready| ready.schedules(on),
                )
            }

            fn plan(
                &self,
                shape: &$crate::Shape,
                schedule: &$crate::method::Schedule,
            ) -> $crate::Result<$crate::plan::Plan> {
                self.ready()?.plan($name, shape, schedule)
            }

            fn boxed(&self) -> Box<dyn $crate::method::Method> {
                Box::new(self.clone())
            }
        }

        impl $crate::conformance::Define for $kind {
            fn define(&self, frame: &$crate::Frame) -> $crate::Result<$crate::Frame> {
                self.ready()?;
                self.defined(frame.color()?)
            }
        }

        impl $crate::conformance::Examples for $kind {
            fn examples(&self) -> Vec<Box<dyn $crate::method::Method>> {
                Self::settings()
                    .into_iter()
                    .map(|s| Box::new(s) as Box<dyn $crate::method::Method>)
                    .collect()
            }
        }
    };
}
use window_method;
