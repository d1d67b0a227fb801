//! How a method runs, as plain data: slots, passes, and the order of passes.
//!
//! A [`Plan`] holds no closures and no GPU objects. It can be printed and validated, and its memory is known before it
//! runs. Executors read it; methods write it through [`Plan::new`],
//! [`Plan::input`], [`Plan::transient`], [`Plan::pass`] and similar functions.
//!
//! Invariants after [`Plan::check`]: each pass matches its kernel's contract and has slots that meet its kernel's needs, no pass reads and writes the same
//! slot, every slot is written before it is read (except inputs and history), every output is written, swapped slots
//! are history of the same form.

use crate::section::Section;
use crate::{
    Backing, Dispatch, Element, Kernel, Layout, PassSlots, Role, Scope, Slot, SlotId, Target, Until,
};
use limpid_core::{Error, Layer, Result, Size};
use std::sync::Arc;

/// A kernel applied to slots.
#[derive(Debug, Clone)]
pub struct Pass {
    /// The operation.
    pub(crate) kernel: Arc<dyn Kernel>,
    /// Slots it reads, in the order of its contract.
    pub(crate) reads: Vec<SlotId>,
    /// Slots it writes, in the order of its contract.
    pub(crate) writes: Vec<SlotId>,
}

impl Pass {
    /// The kernel's name.
    pub fn name(&self) -> &'static str {
        self.kernel.name()
    }

    /// The kernel with its parameters.
    pub fn kernel(&self) -> &dyn Kernel {
        &*self.kernel
    }

    /// Slots it reads, in the order of its contract.
    pub fn reads(&self) -> &[SlotId] {
        &self.reads
    }

    /// Slots it writes, in the order of its contract.
    pub fn writes(&self) -> &[SlotId] {
        &self.writes
    }

    /// The shader of this pass on a device, for inspection; it keeps its runtime checks. The pass must belong to this plan.
    pub fn shader(&self, plan: &Plan, target: Target) -> Result<Dispatch> {
        Ok(self.kernel.gpu(&self.slots(plan, target))?.checked())
    }

    /// The slots that the kernel is applied to, and the device.
    pub fn slots<'a>(&self, plan: &'a Plan, target: Target) -> PassSlots<'a> {
        let slots = |ids: &[SlotId]| ids.iter().map(|id| plan.at(*id)).collect();
        PassSlots {
            target,
            reads: slots(&self.reads),
            writes: slots(&self.writes),
        }
    }
}

/// Passes in order, over slots.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Method and schedule, for display.
    pub(crate) title: String,
    /// Size of the frame.
    pub(crate) size: Size,
    /// The logical images.
    pub(crate) slots: Vec<Slot>,
    /// The passes, in order.
    pub(crate) passes: Vec<Pass>,
    /// Ranges of repeated passes, in order and without overlaps.
    pub(crate) repeats: Vec<Section>,
    /// Pairs of history slots that are swapped after each run.
    pub(crate) swaps: Vec<[SlotId; 2]>,
    /// Tiles must start at multiples of this in x and y (sub-sampled transforms); 1 otherwise.
    pub(crate) align: usize,
    /// How far outputs depend on inputs, if the method knows a tighter bound than its kernels.
    pub(crate) local: Option<usize>,
}

impl Plan {
    /// An empty plan for a frame of this size.
    pub fn new(title: impl Into<String>, size: Size) -> Self {
        Self {
            title: title.into(),
            size,
            slots: Vec::new(),
            passes: Vec::new(),
            repeats: Vec::new(),
            swaps: Vec::new(),
            align: 1,
            local: None,
        }
    }

    /// Method and schedule, for display.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Sets what is displayed as method and schedule.
    pub fn set_title(&mut self, title: impl Into<String>) {
        self.title = title.into();
    }

    /// Size of the frame.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The logical images, in the order of their [`SlotId`]s.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Tiles must start at multiples of this in x and y (sub-sampled transforms); 1 otherwise.
    pub fn align(&self) -> usize {
        self.align
    }

    /// Restricts tiles to start at multiples of this, in x and y.
    pub fn set_align(&mut self, align: usize) {
        self.align = align.max(1);
    }

    /// Appends another plan for frames of the same size. Its outputs become transient slots, which are returned with their layers.
    pub fn absorb(&mut self, other: Self) -> Vec<(Layer, SlotId)> {
        // Tiles need the larger halo of the two.
        self.local = match (self.passes.is_empty(), self.reach(), other.reach()) {
            (true, _, far) => far,
            (false, one, other) => one.zip(other).map(|(a, b)| a.max(b)),
        };
        self.align = self.align.max(other.align);
        let first = self.slots.len();
        let moved = |id: SlotId| SlotId(id.0 + first);
        let mut outputs = Vec::new();
        for (i, mut slot) in other.slots.into_iter().enumerate() {
            if let Role::Output(layer) = &slot.role {
                outputs.push((layer.clone(), SlotId(first + i)));
                slot.role = Role::Transient;
            }
            self.slots.push(slot);
        }
        let after = self.passes.len();
        self.passes.extend(other.passes.into_iter().map(|mut pass| {
            for id in pass.reads.iter_mut().chain(&mut pass.writes) {
                *id = moved(*id);
            }
            pass
        }));
        let repeats = other.repeats.into_iter();
        self.repeats
            .extend(repeats.map(|repeat| repeat.moved(after, moved)));
        let swaps = other.swaps.into_iter().map(|pair| pair.map(moved));
        self.swaps.extend(swaps);
        outputs
    }

    /// Adds a slot.
    pub fn slot(&mut self, slot: Slot) -> SlotId {
        self.slots.push(slot);
        SlotId(self.slots.len() - 1)
    }

    /// Adds an input of planar `f32`, filled from a layer of the frame.
    pub fn input(&mut self, layer: impl Into<Layer>, planes: usize) -> SlotId {
        let layer = layer.into();
        let slot = Slot::new(layer.to_string(), Role::Input(layer), self.size, planes);
        // Each layer is read into one slot.
        match self.slots.iter().position(|s| s.same_form(&slot)) {
            Some(there) => SlotId(there),
            None => self.slot(slot),
        }
    }

    /// Adds an output of planar `f32`, which becomes a layer of the result.
    pub fn output(&mut self, layer: impl Into<Layer>, planes: usize) -> SlotId {
        let layer = layer.into();
        self.slot(Slot::new(
            format!("out {layer}"),
            Role::Output(layer),
            self.size,
            planes,
        ))
    }

    /// Adds a transient slot of planar `f32` of the frame's size.
    pub fn transient(&mut self, name: impl Into<String>, planes: usize) -> SlotId {
        self.slot(Slot::new(name, Role::Transient, self.size, planes))
    }

    /// Adds a slot that is kept from frame to frame; zero before the first.
    pub fn history(&mut self, name: impl Into<String>, planes: usize) -> SlotId {
        self.slot(Slot::new(name, Role::History, self.size, planes))
    }

    /// Swaps two history slots after each run: the slot that one run writes is read in the next run under the other's id,
    /// without a copy.
    pub fn swap(&mut self, one: SlotId, other: SlotId) {
        self.swaps.push([one, other]);
    }

    /// Adds a table: rows of `width` words.
    pub fn data(
        &mut self,
        name: impl Into<String>,
        width: usize,
        words: impl Into<Arc<[u32]>>,
    ) -> SlotId {
        let words = words.into();
        let size = Size::new(width, words.len() / width.max(1));
        self.slot(Slot::new(name, Role::Data(words), size, 1).element(Element::U32))
    }

    /// Size of the first output: that of the frame, unless the method changes it.
    pub fn output_size(&self) -> Size {
        let mut slots = self.slots.iter();
        let output = slots.find(|s| matches!(s.role, Role::Output(_)));
        output.map_or(self.size, |s| s.size)
    }

    /// Adds a pass at the end.
    pub fn pass(
        &mut self,
        kernel: impl Kernel + 'static,
        reads: impl Into<Vec<SlotId>>,
        writes: impl Into<Vec<SlotId>>,
    ) {
        self.passes.push(Pass {
            kernel: Arc::new(kernel),
            reads: reads.into(),
            writes: writes.into(),
        });
    }

    /// Repeats the passes that `add` appends, `most` times or until a value is small enough. Repetitions do not nest.
    pub fn repeat(&mut self, most: usize, until: Option<Until>, add: impl FnOnce(&mut Self)) {
        let first = self.passes.len();
        add(self);
        self.repeats.push(Section {
            passes: first..self.passes.len(),
            most,
            until,
        });
    }

    /// The repetitions, in order and without overlaps.
    #[doc(hidden)]
    pub fn repeats(&self) -> &[Section] {
        &self.repeats
    }

    /// Pairs of history slots that are swapped after each run.
    #[doc(hidden)]
    pub fn swaps(&self) -> &[[SlotId; 2]] {
        &self.swaps
    }

    /// Limits how far outputs depend on inputs, if the method knows a tighter bound than its kernels.
    pub fn set_reach(&mut self, reach: Option<usize>) {
        self.local = reach;
    }

    /// Sets the order of a slot's pixels, before a pass uses it.
    #[doc(hidden)]
    pub fn set_layout(&mut self, id: SlotId, layout: Layout) {
        self.slots[id.0].layout = layout;
    }

    /// All passes in order, those of a repetition once.
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// A slot.
    pub fn at(&self, id: SlotId) -> &Slot {
        &self.slots[id.0]
    }

    /// Whether another plan has the same slots and the same passes over them, so that it can replace this one between two runs:
    /// kernel parameters and tables may differ.
    pub fn same_form(&self, other: &Self) -> bool {
        let slot = |(a, b): (&Slot, &Slot)| a.same_form(b);
        (self.size, self.align, &self.swaps) == (other.size, other.align, &other.swaps)
            && self.slots.len() == other.slots.len()
            && self.slots.iter().zip(&other.slots).all(slot)
            && self.same_passes(other)
    }

    fn same_passes(&self, other: &Self) -> bool {
        let same = |(a, b): (&Pass, &Pass)| {
            let form = |p: &Pass| (p.kernel.name(), p.kernel.contract());
            form(a) == form(b) && a.reads == b.reads && a.writes == b.writes
        };
        // Which slots share memory follows from what is repeated, and from what is looked at in between.
        let repeat = |r: &Section| {
            let seen = r.until.as_ref().map(|until| until.slot);
            (r.passes.clone(), r.most > 1, seen)
        };
        let repeats = |plan: &Self| -> Vec<_> { plan.repeats.iter().map(repeat).collect() };
        self.passes.len() == other.passes.len()
            && self.passes.iter().zip(&other.passes).all(same)
            && repeats(self) == repeats(other)
    }

    /// How far, in pixels, an output pixel depends on input pixels: the sum of halos along the longest path from input to
    /// output, which a tile needs as halo. `None` if some pass reads the whole image, or history is kept, so that tiles would
    /// change the result.
    pub fn reach(&self) -> Option<usize> {
        if self.local.is_some() {
            return self.local;
        }
        let history = self.slots.iter().any(|s| s.role == Role::History);
        if !self.repeats.is_empty() || history {
            return None;
        }
        let mut far = vec![0; self.slots.len()];
        for pass in self.passes() {
            let contract = pass.kernel.contract();
            let own = contract.reach?;
            let from = |ids: &[SlotId]| ids.iter().map(|id| far[id.0]).max().unwrap_or(0);
            let mut most = from(&pass.reads);
            if contract.updates {
                most = most.max(from(&pass.writes));
            }
            for id in &pass.writes {
                far[id.0] = most + own;
            }
        }
        far.into_iter().max()
    }

    /// Words of scratch memory that suffice for every pass.
    pub fn most_scratch(&self) -> usize {
        let words = self.passes.iter().map(|pass| self.scratch_words(pass));
        words.max().unwrap_or(0)
    }

    /// Words of scratch memory of a pass.
    pub fn scratch_words(&self, pass: &Pass) -> usize {
        let first = pass.writes.first();
        let size = first.map_or(self.size, |id| self.at(*id).size);
        pass.kernel.scratch(size)
    }

    /// Validates the invariants of the module. A failure is a bug in the method that wrote the plan.
    pub fn check(&self) -> Result<()> {
        let wrong =
            |what: String| Err(Error::unsupported(format!("plan '{}': {what}", self.title)));
        let mut ends = self.repeats.windows(2);
        if ends.any(|r| r[1].passes.start < r[0].passes.end) {
            return wrong("a repetition inside a repetition".into());
        }
        let mut seen = self.repeats.iter().filter_map(|r| r.until.as_ref());
        if let Some(until) = seen.find(|until| until.slot.0 >= self.slots.len()) {
            let slot = until.slot.0;
            return wrong(format!(
                "a repetition looks at slot {slot}, which does not exist"
            ));
        }
        let mut written: Vec<bool> = self
            .slots
            .iter()
            .map(|s| matches!(s.role, Role::Input(_) | Role::History | Role::Data(_)))
            .collect();
        for pass in self.passes() {
            let name = pass.kernel.name();
            let contract = pass.kernel.contract();
            if pass.reads.len() != contract.reads || pass.writes.len() != contract.writes {
                return wrong(format!(
                    "{name} reads {} and writes {} slots, not {} and {}",
                    contract.reads,
                    contract.writes,
                    pass.reads.len(),
                    pass.writes.len()
                ));
            }
            for id in pass.reads.iter().chain(&pass.writes) {
                if id.0 >= self.slots.len() {
                    return wrong(format!("{name} uses slot {}, which does not exist", id.0));
                }
            }
            let slots = pass.slots(self, Target::BASE);
            if let Some(fault) = slots.unmet(&pass.kernel.needs(&slots)) {
                return wrong(format!("{name} {fault}"));
            }
            for (i, id) in pass.writes.iter().enumerate() {
                if pass.reads.contains(id) || pass.writes[..i].contains(id) {
                    return wrong(format!("{name} has slot '{}' twice", self.at(*id).name));
                }
                if matches!(self.at(*id).role, Role::Input(_) | Role::Data(_)) {
                    return wrong(format!("{name} writes input '{}'", self.at(*id).name));
                }
                let rows = |s: Scope| matches!(s, Scope::Rows { .. });
                if rows(contract.scope) && self.at(*id).size != self.at(pass.writes[0]).size {
                    return wrong(format!("{name} writes slots of different sizes"));
                }
                if contract.updates && !written[id.0] {
                    return wrong(format!("{name} updates '{}', unwritten", self.at(*id).name));
                }
            }
            for id in &pass.reads {
                if !written[id.0] {
                    return wrong(format!(
                        "{name} reads '{}' before it is written",
                        self.at(*id).name
                    ));
                }
            }
            for id in &pass.writes {
                written[id.0] = true;
            }
        }
        if let Some(fault) = self.history_fault() {
            return wrong(fault);
        }
        match self.slots.iter().zip(&written).find(|(_, w)| !**w) {
            Some((slot, _)) => wrong(format!("'{}' is never written", slot.name)),
            None => Ok(()),
        }
    }

    /// Returns an error in history or swapped slots.
    fn history_fault(&self) -> Option<String> {
        let kept = |s: &&Slot| s.role == Role::History && s.backing != Backing::Buffer;
        if let Some(slot) = self.slots.iter().find(kept) {
            return Some(format!(
                "'{}' is history and must be a buffer: textures cannot be cleared on every device",
                slot.name
            ));
        }
        let mut seen = Vec::new();
        for id in self.swaps.iter().flatten() {
            let Some(slot) = self.slots.get(id.0) else {
                return Some(format!("slot {} is swapped but does not exist", id.0));
            };
            if slot.role != Role::History {
                return Some(format!("'{}' is swapped but not history", slot.name));
            }
            if seen.contains(id) {
                return Some(format!("'{}' is swapped twice", slot.name));
            }
            seen.push(*id);
        }
        let form = |s: &Slot| (s.size, s.planes, s.element, s.layout, s.backing);
        let mut pairs = self.swaps.iter().map(|pair| pair.map(|id| self.at(id)));
        let [a, b] = pairs.find(|[a, b]| form(a) != form(b))?;
        Some(format!(
            "'{}' and '{}' are swapped, but differ in form",
            a.name, b.name
        ))
    }
}
