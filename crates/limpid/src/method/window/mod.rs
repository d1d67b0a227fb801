//! Filters over a square window (Zubatov and Shcherbakov): [`Gaussian`], [`Tent`], [`Tent2`], [`Variance`], [`Bilateral`].
//!
//! The definitions are in [`crate::definition::window`]. Schedules on the GPU:
//!
//! * `direct`: a compute shader reads the `(2r+1)²` pixels from buffers;
//! * `tile`: from workgroup memory; filters of rank one go along rows, then along columns;
//! * `two-pass`: rows, then columns, from buffers (rank one);
//! * `fragment`: a fragment shader reads `(2r+1)²` texels;
//! * `quad`: a fragment shader reads `(r+1)²` texels, and the four invocations of a quad share sums by derivatives;
//! * `quad:sums`: the same with three exchanges for any radius (rank one and two);
//! * `linear`: two fragment passes that read two texels at once from a linear sampler (rank one);
//! * `quad-compute`: `quad:sums` in a compute shader, by quad operations.
//!
//! On the CPU: `separable` (one axis after the other in one pass over memory), `sliding` for mean and deviation, `two-pass`,
//! `direct`.
//!
//! Two words are for measurements and not in the list: `quad:coarse` shares by coarse derivatives, which gives wrong
//! pictures; `:8bit` behind a schedule of textures keeps eight bits per channel.

mod bilateral;
mod gaussian;
mod tent;
mod variance;

pub use bilateral::Bilateral;
pub use gaussian::Gaussian;
pub use tent::{Tent, Tent2};
pub use variance::{DEVIATION, Variance, deviation};

use super::{Backend, Entry, Schedule};
use crate::kernel::texture::{FromTexture, ToTexture};
use crate::kernel::window::{
    Along, Exchange, Filter, TILE_COLUMNS, TILE_SQUARE, Walk, Window, WindowAxis, margin,
};
use crate::plan::{Element, Home, Plan, Role, Slot, SlotId};
use crate::{Error, Layer, Result, Shape, Size};

/// The filters in the list of methods.
pub const ENTRIES: [Entry; 5] = [
    gaussian::ENTRY,
    tent::ENTRY,
    tent::ENTRY2,
    variance::ENTRY,
    bilateral::ENTRY,
];

/// A filter with its radius, ready to be planned.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ready {
    filter: Filter,
    radius: usize,
}

/// A filter of rank one as part of a larger plan: rows, then columns.
pub(super) fn two_passes(plan: &mut Plan, slot: SlotId, filter: Filter, radius: usize) -> SlotId {
    let out = plan.transient("filtered", plan.at(slot).planes);
    Ready { filter, radius }.axes(plan, Along::Plain, slot, out);
    out
}

/// The mean over a square, as part of a larger plan: a tent without slope.
pub(super) fn box_mean(plan: &mut Plan, slot: SlotId, radius: usize) -> SlotId {
    let (peak, slope) = (1.0, 0.0);
    two_passes(plan, slot, Filter::Tent { peak, slope }, radius)
}

/// The radius within what is allowed.
fn checked_radius(radius: usize) -> Result<usize> {
    if radius > 1024 {
        return Err(Error::input(format!(
            "--radius {radius}: expected at most 1024"
        )));
    }
    Ok(radius)
}

/// A number above zero.
fn positive(name: &str, value: f32) -> Result<f32> {
    if value > 0.0 && value <= 1e6 {
        Ok(value)
    } else {
        Err(Error::input(format!(
            "--{name} {value}: expected a number above 0 and at most 1000000"
        )))
    }
}

impl Ready {
    /// The schedules for a back end, the best first.
    fn schedules(self, on: Backend) -> Vec<Schedule> {
        let rank_one = self.filter.side(0).is_some();
        let rank_two = matches!(self.filter, Filter::Tent2 { .. });
        let mut names = Vec::new();
        match on {
            Backend::Cpu => match self.filter {
                Filter::Bilateral { .. } => names.push("direct"),
                Filter::Variance => names.extend(["sliding", "direct"]),
                _ if rank_one => names.extend(["separable", "two-pass", "direct"]),
                _ => names.extend(["separable", "direct"]),
            },
            Backend::Gpu => {
                names.push("direct");
                let fits = if rank_one { TILE_COLUMNS } else { TILE_SQUARE };
                if self.radius <= fits {
                    names.push("tile");
                }
                names.extend(["fragment", "quad", "quad-compute"]);
                if rank_one || rank_two {
                    names.push("quad:sums");
                }
                if rank_one {
                    names.extend(["two-pass", "linear"]);
                }
                let best = self.best_on_gpu();
                names.sort_by_key(|name| *name != best);
            }
        }
        names.into_iter().map(Schedule::new).collect()
    }

    /// The schedule that is fastest from planes to planes, as measured on an H200 (docs/filters.md).
    fn best_on_gpu(self) -> &'static str {
        let tile = self.radius <= TILE_SQUARE;
        match (self.filter, self.radius) {
            (Filter::Gaussian { .. } | Filter::Tent { .. }, 0..=3) => "quad-compute",
            (Filter::Gaussian { .. } | Filter::Tent { .. }, 4..=TILE_COLUMNS) => "tile",
            (Filter::Gaussian { .. } | Filter::Tent { .. }, _) => "two-pass",
            (Filter::Variance, 3..) if tile => "tile",
            (Filter::Bilateral { .. }, 0..=2) => "direct",
            (Filter::Bilateral { .. }, _) if tile => "tile",
            _ => "quad-compute",
        }
    }

    /// The passes for colour of this shape.
    fn plan(self, name: &str, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let mut plan = Plan::new(format!("{name} {schedule}"), shape.size);
        let channels = shape
            .channels(&Layer::COLOR)
            .ok_or_else(|| Error::input("layer color is missing"))?;
        let input = plan.input(Layer::COLOR, channels);
        let mut outputs = vec![plan.output(Layer::COLOR, channels)];
        if self.filter.results() == 2 {
            outputs.push(plan.output(deviation(), channels));
        }
        let mut words = schedule.words();
        let first = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let wrong = || {
            let what = format!("schedule of {name}");
            Err(Error::unknown(
                &what,
                schedule.as_str(),
                [
                    "separable",
                    "direct",
                    "tile",
                    "fragment",
                    "quad",
                    "linear",
                    "quad-compute",
                ],
            ))
        };
        let home = if rest.contains(&"8bit") {
            Home::Texture8
        } else {
            Home::Texture
        };
        let rank_one = self.filter.side(0).is_some();
        match first {
            "separable" | "sliding" => self.window(&mut plan, Walk::Separable, input, &outputs),
            "direct" => self.window(&mut plan, Walk::Direct, input, &outputs),
            "tile" if rank_one => self.axes(&mut plan, Along::Tile, input, outputs[0]),
            "tile" => self.window(&mut plan, Walk::Tile, input, &outputs),
            "quad-compute" => self.window(&mut plan, Walk::QuadCompute, input, &outputs),
            "two-pass" if rank_one => self.axes(&mut plan, Along::Plain, input, outputs[0]),
            "linear" if rank_one => self.linear(&mut plan, home, input, outputs[0]),
            "fragment" => self.textures(&mut plan, Walk::Fragment, home, (input, &outputs)),
            "quad" => {
                let exchange = if rest.contains(&"sums") {
                    Exchange::Sums
                } else {
                    Exchange::Rows
                };
                let coarse = rest.contains(&"coarse");
                let walk = Walk::Quad { exchange, coarse };
                self.textures(&mut plan, walk, home, (input, &outputs));
            }
            _ => return wrong(),
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
        home: Home,
        (input, outputs): (SlotId, &[SlotId]),
    ) {
        let texels = self.texels(plan, home, input);
        let size = plan.size;
        let drawn: Vec<SlotId> = (0..outputs.len())
            .map(|i| texture(plan, &format!("drawn {i}"), size, home))
            .collect();
        self.window(plan, walk, texels, &drawn);
        for (from, to) in drawn.iter().zip(outputs) {
            plan.pass(FromTexture, [*from], [*to]);
        }
    }

    fn linear(self, plan: &mut Plan, home: Home, input: SlotId, output: SlotId) {
        let texels = self.texels(plan, home, input);
        let size = plan.size;
        // Rows above and below are needed by the second pass.
        let tall = Size::new(size.width, margin(size, self.radius).height);
        let rows = texture(plan, "rows", tall, Home::Texture);
        let drawn = texture(plan, "drawn", size, home);
        plan.pass(self.axis(Along::Linear, false), [texels], [rows]);
        plan.pass(self.axis(Along::Linear, true), [rows], [drawn]);
        plan.pass(FromTexture, [drawn], [output]);
    }

    /// The input as texels with a margin.
    fn texels(self, plan: &mut Plan, home: Home, input: SlotId) -> SlotId {
        let size = margin(plan.size, self.radius);
        let texels = texture(plan, "texels", size, home);
        let kernel = ToTexture {
            margin: self.radius,
        };
        plan.pass(kernel, [input], [texels]);
        texels
    }
}

fn texture(plan: &mut Plan, name: &str, size: Size, home: Home) -> SlotId {
    let slot = Slot::new(name, Role::Transient, size, 1);
    plan.slot(slot.element(Element::F32x4).home(home))
}

/// Implements [`super::Method`] for a filter that has `ready`, `defined` and `settings`.
macro_rules! window_method {
    ($kind:ty, $name:expr) => {
        impl $crate::method::Method for $kind {
            fn name(&self) -> &'static str {
                $name
            }

            fn schedules(&self, on: $crate::method::Backend) -> Vec<$crate::method::Schedule> {
                // Wrong options have no schedules of their own; their error comes with the plan.
                self.ready().map_or_else(
                    |_| vec![$crate::method::Schedule::new("direct")],
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

            fn define(&self, frame: &$crate::Frame) -> $crate::Result<$crate::Frame> {
                self.ready()?;
                self.defined(frame.color()?)
            }

            fn examples(&self) -> Vec<Box<dyn $crate::method::Method>> {
                Self::settings()
                    .into_iter()
                    .map(|s| Box::new(s) as Box<dyn $crate::method::Method>)
                    .collect()
            }

            fn boxed(&self) -> Box<dyn $crate::method::Method> {
                Box::new(self.clone())
            }
        }
    };
}
use window_method;
