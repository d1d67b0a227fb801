//! Schedules and their plans.

use super::setup::Setup;
use super::{Atrous, AtrousSchedule, Border};
use crate::method::{Backend, Schedule};
use crate::{Error, Kind, Layer, Part, Result, Shape};
use limpid_kernel_render::atrous::{Atrous as Level, Fused, Mode, Source, Stops, Walk};
use limpid_kernel_render::details::Details;
use limpid_kernel_render::guard::{Guard, Powers};
use limpid_kernel_render::pack::{Pack, PackFeatures, Packing, Unpack};
use limpid_kernel_render::prefilter::prefilter;
use limpid_plan::{Element, Layout, Order, Phases, Plan, Role, Slot, SlotId};
use limpid_reference::definition::atrous::BALANCING;

/// The parts of a schedule.
#[derive(Debug, Clone, Copy)]
pub(in crate::method) struct Traversal {
    /// The order of pixels; `None` for rows.
    pub(in crate::method) phases: Option<Phases>,
    /// Where taps are read on a GPU.
    pub(in crate::method) taps: Source,
    /// Levels per dispatch.
    fused: usize,
    pub(in crate::method) on: Backend,
}

impl Traversal {
    pub(in crate::method) fn of(schedule: &Schedule) -> Result<Self> {
        let phases = |order, mirror| Phases {
            level: 0,
            order,
            mirror,
        };
        let (phases, taps, fused) = match schedule.choice()? {
            AtrousSchedule::Dilated => (None, None, 1),
            AtrousSchedule::Permuted {
                order,
                mirror,
                taps,
            } => (Some(phases(order, mirror)), taps, 1),
            AtrousSchedule::Fused(count) => {
                let tile = Some(Source::Tile(None));
                (Some(phases(Order::Ascending, false)), tile, count)
            }
        };
        Ok(Self {
            phases,
            taps: taps.unwrap_or(Source::Global),
            fused,
            on: schedule.backend(),
        })
    }

    /// The positions of a level's taps. The last level keeps its order if that is faster.
    pub(in crate::method) fn walk(&self, level: usize, last: bool) -> Walk {
        let Some(phases) = self.phases else {
            return Walk::Dilated;
        };
        let level = level as u32;
        let from = Phases { level, ..phases };
        let to = match last {
            true => Some(from).filter(|_| level > 0 && self.stays()),
            false => Some(from.split()),
        };
        Walk::Permuted {
            from,
            to,
            taps: self.taps,
        }
    }

    /// Whether the result stays in the order of the last level. A GPU then writes whole cache lines; the unpacking pass reads
    /// two adjacent pixels at a time from each sub-image.
    fn stays(&self) -> bool {
        self.on == Backend::Gpu && self.fused == 1 && !self.phases.is_some_and(|p| p.mirror)
    }
}

/// Creates slots of a plan for a back end.
pub(super) struct Slots<'a> {
    setup: &'a Setup,
    traversal: Traversal,
    pub(super) plan: Plan,
}

impl Slots<'_> {
    pub(super) fn on(&self) -> Backend {
        self.traversal.on
    }

    pub(super) fn payload(&mut self, name: String, layout: Layout) -> SlotId {
        let (planes, element) = match self.traversal.on {
            Backend::Cpu => (self.setup.planes(), Element::F32),
            Backend::Gpu if self.setup.half => (self.setup.vectors(), Element::F16x4),
            Backend::Gpu => (self.setup.vectors(), Element::F32x4),
        };
        let slot = Slot::new(name, Role::Transient, self.plan.size(), planes);
        self.plan.slot(slot.element(element).layout(layout))
    }

    pub(super) fn features(&mut self, name: String, layout: Layout) -> SlotId {
        let dims = self.setup.stops(0).len();
        let (planes, element) = match self.traversal.on {
            Backend::Cpu => (dims, Element::F32),
            Backend::Gpu if self.setup.packs() => (1, Element::U32x4),
            Backend::Gpu => (dims.div_ceil(4), Element::F32x4),
        };
        let slot = Slot::new(name, Role::Transient, self.plan.size(), planes);
        self.plan.slot(slot.element(element).layout(layout))
    }
}

/// An empty plan.
pub(super) fn slots<'a>(
    method: &Atrous,
    setup: &'a Setup,
    shape: &Shape,
    schedule: &Schedule,
) -> Result<Slots<'a>> {
    let traversal = Traversal::of(schedule)?;
    if traversal.phases.is_some_and(|p| p.mirror) != (method.border != Border::Zero) {
        let expected = "one that matches the option border: exact for zero, mirror for mirror";
        return Err(Error::option("schedule", schedule, expected));
    }
    let mut plan = Plan::new(format!("atrous {schedule}"), shape.size);
    // Samples of a sub-sampled image lie at multiples of the grid; mirrored orders depend on the positions of the splits. Both
    // are powers of two.
    plan.set_align(match traversal.phases {
        Some(phases) if phases.mirror => method.grid().max(1 << setup.levels),
        _ => method.grid(),
    });
    Ok(Slots {
        setup,
        traversal,
        plan,
    })
}

pub(in crate::method) fn plan(
    method: &Atrous,
    setup: &Setup,
    shape: &Shape,
    schedule: &Schedule,
) -> Result<Plan> {
    let mut slots = slots(method, setup, shape, schedule)?;
    let albedo = setup.demodulates.then(|| slots.plan.input(Kind::Albedo, 3));
    let mut payload = pack(&mut slots, shape, albedo);
    let features = features(&mut slots, albedo);
    if setup.guard {
        let guarded = slots.payload("guarded".into(), Layout::Rows);
        let kernel = guard(setup);
        slots.plan.pass(kernel, [payload], [guarded]);
        payload = guarded;
    }
    let result = levels(method, &mut slots, State { payload, features });
    for item in &setup.items {
        let channels = if item.packed_at.variance {
            1
        } else {
            item.packed_at.channels
        };
        let output = slots.plan.output(item.layer.clone(), channels);
        let reads: Vec<SlotId> = [Some(result), albedo.filter(|_| item.packed_at.albedo)]
            .into_iter()
            .flatten()
            .collect();
        let unpack = Unpack::from(&slots.plan, result, item.packed_at, false);
        slots.plan.pass(unpack, reads, [output]);
    }
    Ok(slots.plan)
}

fn pack(slots: &mut Slots<'_>, shape: &Shape, albedo: Option<SlotId>) -> SlotId {
    let setup = slots.setup;
    let payload = slots.payload("payload".into(), Layout::Rows);
    for (i, item) in setup.items.iter().enumerate() {
        let channels = shape
            .channels(&item.layer)
            .unwrap_or(item.packed_at.channels);
        let layer = slots.plan.input(item.layer.clone(), channels);
        let reads: Vec<SlotId> = [Some(layer), albedo.filter(|_| item.packed_at.albedo)]
            .into_iter()
            .flatten()
            .collect();
        let kernel = Pack {
            packed_at: item.packed_at,
            first: i == 0,
            half: setup.half,
        };
        slots.plan.pass(kernel, reads, [payload]);
    }
    payload
}

fn features(slots: &mut Slots<'_>, albedo: Option<SlotId>) -> Option<SlotId> {
    let setup = slots.setup;
    if setup.guides.is_empty() {
        return None;
    }
    let mut reads = Vec::new();
    for g in &setup.guides {
        let input = albedo.filter(|_| g.kind == Kind::Albedo);
        let input = input.unwrap_or_else(|| slots.plan.input(g.kind.clone(), g.channels));
        if !g.noisy {
            reads.push(input);
            continue;
        }
        let layer = Layer::new(g.kind.clone(), Part::Variance);
        let variance = slots.plan.input(layer, g.channels);
        let name = format!("calm {}", Layer::from(g.kind.clone()));
        let calm = slots.plan.transient(name, g.channels);
        slots
            .plan
            .pass(prefilter(g.channels), [input, variance], [calm]);
        reads.push(calm);
    }
    let features = slots.features("features".into(), Layout::Rows);
    let kernel = PackFeatures {
        layers: setup.feature_planes(),
        packing: if setup.packs() {
            Packing::Packed
        } else {
            Packing::Full
        },
    };
    slots.plan.pass(kernel, reads, [features]);
    Some(features)
}

fn guard(setup: &Setup) -> Guard {
    let mut powers = Powers {
        planes: vec![0; setup.planes()],
        vectors: vec![[0; 4]; setup.vectors()],
    };
    for item in setup.items.iter().filter(|i| i.layer.kind != Kind::Alpha) {
        let (count, power) = if item.packed_at.variance {
            (1, 2)
        } else {
            (item.packed_at.channels, 1)
        };
        for k in 0..count {
            powers.planes[item.packed_at.plane + k] = power;
            powers.vectors[item.packed_at.vector][item.packed_at.lane + k] = power;
        }
    }
    Guard {
        colors: setup.colors,
        powers,
        half: setup.half,
    }
}

/// The kernel of a level.
fn kernel(method: &Atrous, slots: &Slots<'_>, level: usize) -> Level {
    let setup = slots.setup;
    let last = level + 1 == setup.levels;
    let grid = if level == 0 { method.grid() } else { 1 };
    let mut walk = slots.traversal.walk(level, last);
    if let Walk::Permuted { to, .. } = &mut walk
        && last
        && !method.gains.is_empty()
    {
        // Details are sums over levels in row order.
        *to = None;
    }
    if let Walk::Permuted { taps, .. } = &mut walk
        && grid > 1
    {
        // A tile marks invalid pixels, but unsampled ones must still be filled.
        *taps = Source::Global;
    }
    Level {
        level: level as u32,
        taps: setup.taps.clone(),
        stops: Stops {
            color: setup.color_stop(level),
            features: setup.stops(level),
            local: setup.local.as_ref().map(|l| l.weight(level, method.energy)),
        },
        guided: None,
        planes: setup.planes(),
        colors: setup.colors,
        squared: setup.squared(),
        grid,
        mode: Mode::Mean,
        half: setup.half,
        walk,
    }
}

/// The payload and the guides.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) payload: SlotId,
    pub(super) features: Option<SlotId>,
}

impl State {
    fn reads(self) -> Vec<SlotId> {
        [Some(self.payload), self.features]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Slots for the output of a level.
    fn next(self, slots: &mut Slots<'_>, level: usize, walk: Walk) -> (Self, Vec<SlotId>) {
        let to = walk.order();
        let layout = to.map_or(Layout::Rows, Layout::Phases);
        let payload = slots.payload(format!("level {}", level + 1), layout);
        let mut writes = vec![payload];
        let mut features = self.features;
        if walk.goes_on() && features.is_some() {
            let moved = slots.features(format!("features {}", level + 1), layout);
            writes.push(moved);
            features = Some(moved);
        }
        (Self { payload, features }, writes)
    }
}

/// The levels in order; returns the slot of the result.
pub(super) fn levels(method: &Atrous, slots: &mut Slots<'_>, start: State) -> SlotId {
    let mut state = start;
    let mut sum = None;
    let count = slots.setup.levels;
    // Additional planes do not fit the tile of fused levels, and fused levels cannot fill unsampled pixels.
    let at_once = if slots.setup.vectors() == 1 && method.grid() == 1 {
        slots.traversal.fused
    } else {
        1
    };
    let mut level = 0;
    while level < count {
        let end = (level + at_once).min(count);
        let last = end == count;
        let mut now = kernel(method, slots, end - 1);
        let mut reads = state.reads();
        let (next, writes) = state.next(slots, end - 1, now.walk);
        if end - level > 1 {
            let levels = (level..end).map(|l| kernel(method, slots, l)).collect();
            slots.plan.pass(Fused { levels }, reads, writes);
        } else {
            if method.energy {
                let mut factors = Vec::new();
                for step in 0..BALANCING {
                    let name = format!("factors {} of level {level}", step + 1);
                    let next = slots.plan.transient(name, 1);
                    now.mode = Mode::Balance { first: step == 0 };
                    let all = [&reads[..], &factors].concat();
                    slots.plan.pass(now.clone(), all, [next]);
                    factors = vec![next];
                }
                now.mode = Mode::Balanced;
                reads.extend(factors);
            }
            slots.plan.pass(now, reads, writes);
        }
        if !method.gains.is_empty() {
            let first = sum.is_none();
            let into = *sum.get_or_insert_with(|| full(slots));
            let gain = method.gains.get(level).copied().unwrap_or(0.0);
            let details = Details { gain, first, last };
            slots
                .plan
                .pass(details, [state.payload, next.payload], [into]);
        }
        state = next;
        level = end;
    }
    sum.unwrap_or(state.payload)
}

/// A slot like the payload in single precision.
fn full(slots: &mut Slots<'_>) -> SlotId {
    let (planes, element) = match slots.traversal.on {
        Backend::Cpu => (slots.setup.planes(), Element::F32),
        Backend::Gpu => (slots.setup.vectors(), Element::F32x4),
    };
    let slot = Slot::new("details", Role::Transient, slots.plan.size(), planes);
    slots.plan.slot(slot.element(element))
}
