//! A plan prepared for the CPU.

use super::Cpu;
use crate::clock::Instant;
use crate::{PassTime, Runner, Watch};
use limpid_core::memory::{AlignedVec, zeroed};
use limpid_core::{Error, Frame, Image, Result};
use limpid_plan::{Job, Scope, View, ViewMut};
use limpid_plan::{Pass, Plan, Role, Section, Slot, SlotId};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A plan with its memory: build once, run many times.
#[derive(Debug)]
pub struct CpuRunner {
    cpu: Cpu,
    plan: Arc<Plan>,
    /// Shared buffers of transient slots, then one buffer per history slot.
    buffers: Vec<AlignedVec>,
    /// The buffer of each slot.
    place: Vec<Option<usize>>,
    /// Scratch memory, one piece per thread.
    scratch: Vec<Mutex<Vec<f32>>>,
    times: Vec<PassTime>,
    residuals: Vec<Vec<f32>>,
}

impl CpuRunner {
    /// Validates the plan and allocates its memory.
    pub fn new(cpu: &Cpu, plan: Plan) -> Result<Self> {
        plan.check()?;
        if let Some(pass) = plan.passes().iter().find(|p| p.kernel().gpu_only()) {
            return Err(Error::unsupported(format!(
                "{}: its pass {} is for GPUs only",
                plan.title(),
                pass.name()
            )));
        }
        let memory = plan.memory();
        let (mut place, mut words) = (memory.place, memory.buffers);
        for (i, slot) in plan.slots().iter().enumerate() {
            // Textures exist on GPUs only; on the CPU every transient slot is plain memory.
            if slot.role == Role::History || (slot.role == Role::Transient && place[i].is_none()) {
                place[i] = Some(words.len());
                words.push(slot.words());
            }
        }
        let scratch = plan.most_scratch();
        let buffers: Result<_> = words.into_iter().map(AlignedVec::try_zeros).collect();
        let scratch: Result<_> = (0..cpu.threads())
            .map(|_| Ok(Mutex::new(zeroed(scratch)?)))
            .collect();
        let times = plan.passes().iter().map(time_zero).collect();
        Ok(Self {
            cpu: cpu.clone(),
            buffers: buffers?,
            place,
            scratch: scratch?,
            plan: Arc::new(plan),
            times,
            residuals: Vec::new(),
        })
    }

    /// Runs all passes. The caller holds the plan, so that `self` can be borrowed mutably.
    fn sections(
        &mut self,
        (sections, passes): (&[Section], &[Pass]),
        input: &Frame,
        output: &mut Frame,
        watch: &Watch,
    ) -> Result<()> {
        let work = |s: &Section| {
            let once = passes[s.passes.clone()].iter().map(|p| p.kernel().work());
            s.most as f32 * once.sum::<f32>()
        };
        let total: f32 = sections.iter().map(work).sum();
        let mut ended = 0.0;
        for section in sections {
            let mut done = ended;
            ended += work(section);
            let mut residuals = Vec::new();
            for _ in 0..section.most {
                for i in section.passes.clone() {
                    watch.check()?;
                    let begun = done;
                    done += passes[i].kernel().work();
                    let part = watch.for_part(begun / total, done / total);
                    let start = Instant::now();
                    self.pass(&passes[i], input, output, &part);
                    self.times[i].time += start.elapsed();
                    part.done(1.0);
                }
                // Checking is free on the CPU, so the condition is checked after every round and `every` is ignored.
                if let Some(u) = &section.until {
                    let seen = self.read(u.slot, input, output).first();
                    residuals.extend(seen);
                    if seen.is_some_and(|v| *v <= u.at_most) {
                        break;
                    }
                }
            }
            if section.until.is_some() {
                self.residuals.push(residuals);
            }
            watch.done(ended / total);
        }
        Ok(())
    }

    /// All layers must exist with the sizes that the plan was made for.
    fn check_frames(&self, input: &Frame, output: &Frame) -> Result<()> {
        for slot in self.plan.slots() {
            let image = match &slot.role {
                Role::Input(layer) => input.require(layer.clone())?,
                Role::Output(layer) => output.require(layer.clone())?,
                Role::Transient | Role::History | Role::Data(_) => continue,
            };
            if image.data().len() != slot.words() {
                return Err(Error::mismatch(format!(
                    "'{}' has {} values, the plan was made for {}",
                    slot.name,
                    image.data().len(),
                    slot.words()
                )));
            }
        }
        Ok(())
    }

    fn read<'a>(&'a self, id: SlotId, input: &'a Frame, output: &'a Frame) -> &'a [f32] {
        let slot = self.plan.at(id);
        let data = match (&slot.role, self.place[id.0]) {
            (Role::Input(layer), _) => input.get(layer.clone()).map(Image::data),
            (Role::Output(layer), _) => output.get(layer.clone()).map(Image::data),
            (Role::Data(words), _) => Some(bytemuck::cast_slice(words)),
            (_, Some(at)) => Some(&self.buffers[at][..]),
            (_, None) => None,
        };
        &data.unwrap_or_default()[..slot.words()]
    }

    fn pass(&mut self, pass: &Pass, input: &Frame, output: &mut Frame, watch: &Watch) {
        // Moves written slots out of their storage while the pass runs, so that the others can be borrowed.
        let mut taken: Vec<AlignedVec> = pass
            .writes()
            .iter()
            .map(|id| self.take(*id, output))
            .collect();
        self.run_bands(pass, input, output, &mut taken, watch);
        for (id, data) in pass.writes().iter().zip(taken) {
            self.give_back(*id, output, data);
        }
    }

    fn take(&mut self, id: SlotId, output: &mut Frame) -> AlignedVec {
        match (&self.plan.at(id).role, self.place[id.0]) {
            (Role::Output(layer), _) => output
                .get_mut(layer.clone())
                .map(Image::take_data)
                .unwrap_or_default(),
            (_, Some(at)) => std::mem::take(&mut self.buffers[at]),
            (_, None) => AlignedVec::default(),
        }
    }

    fn give_back(&mut self, id: SlotId, output: &mut Frame, data: AlignedVec) {
        match (&self.plan.at(id).role, self.place[id.0]) {
            (Role::Output(layer), _) => {
                if let Some(image) = output.get_mut(layer.clone()) {
                    image.put_data(data);
                }
            }
            (_, Some(at)) => self.buffers[at] = data,
            (_, None) => {}
        }
    }

    fn run_bands(
        &self,
        pass: &Pass,
        input: &Frame,
        output: &Frame,
        taken: &mut [AlignedVec],
        watch: &Watch,
    ) {
        let scope = pass.kernel().contract().scope;
        let reads: Vec<(&Slot, &[f32])> = pass
            .reads()
            .iter()
            .map(|id| (self.plan.at(*id), self.read(*id, input, output)))
            .collect();
        let writes: Vec<&Slot> = pass.writes().iter().map(|id| self.plan.at(*id)).collect();
        let height = writes[0].size.height;
        let band = match scope {
            Scope::Whole => height,
            // Four bands per thread balance the load; bands of fewer than 8 rows would mostly recompute halos.
            _ => self
                .cpu
                .band
                .unwrap_or_else(|| height.div_ceil(4 * self.cpu.threads()).max(8)),
        };
        let bands = cut(&writes, taken, band);
        let (count, done) = (bands.len() as f32, AtomicUsize::new(0));
        let run = |(rows, writes): (Range<usize>, Vec<ViewMut<'_>>)| {
            if watch.stopped() {
                return;
            }
            let reads = reads.iter().map(|(s, data)| {
                View::new(
                    data,
                    s.size,
                    s.element.words(),
                    visible(scope, &rows, s, height),
                )
            });
            let thread = rayon::current_thread_index().unwrap_or(0);
            let mut own = self.scratch[thread].try_lock();
            let mut spare = Vec::new();
            let scratch = match &mut own {
                Ok(own) => &mut own[..],
                // The thread's scratch memory is locked if its kernel body runs nested tasks and the pool started another band
                // meanwhile.
                Err(_) => {
                    spare.resize(self.plan.scratch_words(pass), 0.0);
                    &mut spare[..]
                }
            };
            let (level, reads) = (self.cpu.level, reads.collect());
            pass.kernel().cpu(&mut Job {
                level,
                rows,
                reads,
                writes,
                scratch,
            });
            watch.done((done.fetch_add(1, Ordering::Relaxed) + 1) as f32 / count);
        };
        match scope {
            Scope::Whole => bands.into_iter().for_each(run),
            _ => bands.into_par_iter().for_each(run),
        }
    }
}

impl Runner for CpuRunner {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(&mut self, input: &Frame, output: &mut Frame, watch: &Watch) -> Result<()> {
        self.check_frames(input, output)?;
        for time in &mut self.times {
            time.time = Default::default();
        }
        self.residuals.clear();
        let sections = self.plan.sections();
        let plan = self.plan.clone();
        // Enters the pool once for all passes: each entry wakes up a thread.
        let pool = self.cpu.pool.clone();
        let result =
            pool.install(|| self.sections((&sections, plan.passes()), input, output, watch));
        result.and_then(|()| watch.check())?;
        for [a, b] in self.plan.swaps() {
            self.place.swap(a.0, b.0);
        }
        Ok(())
    }

    fn update(&mut self, plan: &Plan) -> Result<bool> {
        if !self.plan.same_form(plan) {
            return Ok(false);
        }
        plan.check()?;
        let words = plan.most_scratch();
        for scratch in &mut self.scratch {
            let scratch = scratch.get_mut().unwrap_or_else(PoisonError::into_inner);
            scratch.resize(words.max(scratch.len()), 0.0);
        }
        self.plan = Arc::new(plan.clone());
        Ok(true)
    }

    fn reset(&mut self) {
        for (slot, place) in self.plan.slots().iter().zip(&self.place) {
            if let (Role::History, Some(at)) = (&slot.role, place) {
                self.buffers[*at].fill(0.0);
            }
        }
    }

    fn times(&self) -> &[PassTime] {
        &self.times
    }

    fn residuals(&self) -> &[Vec<f32>] {
        &self.residuals
    }

    /// Warms up with one extra run on each frame.
    fn measure(&mut self, frames: &[Frame], runs: usize) -> Result<Vec<Vec<PassTime>>> {
        let mut out = crate::outputs(&self.plan, self.plan.output_size())?;
        let watch = Watch::default();
        for frame in frames {
            self.run(frame, &mut out, &watch)?;
        }
        let mut times = Vec::with_capacity(runs);
        for frame in frames.iter().cycle().take(runs) {
            self.run(frame, &mut out, &watch)?;
            times.push(self.times.clone());
        }
        Ok(times)
    }
}

/// The rows of a read slot that a band may read.
fn visible(scope: Scope, rows: &Range<usize>, slot: &Slot, height: usize) -> Range<usize> {
    match scope {
        Scope::Rows { halo } if slot.size.height == height => {
            rows.start.saturating_sub(halo)..(rows.end + halo).min(height)
        }
        _ => 0..slot.size.height,
    }
}

/// Splits the written slots into bands of `rows` rows. Slots of other heights are allowed only with a single band.
fn cut<'a>(
    slots: &[&Slot],
    data: &'a mut [AlignedVec],
    rows: usize,
) -> Vec<(Range<usize>, Vec<ViewMut<'a>>)> {
    let height = slots[0].size.height;
    let count = height.div_ceil(rows.max(1)).max(1);
    let mut bands: Vec<(Range<usize>, Vec<ViewMut<'a>>)> = (0..count)
        .map(|i| (i * rows..((i + 1) * rows).min(height), Vec::new()))
        .collect();
    for (slot, data) in slots.iter().zip(data) {
        let row = slot.size.width * slot.element.words();
        let mut parts: Vec<Vec<&'a mut [f32]>> = (0..count).map(|_| Vec::new()).collect();
        for plane in data[..slot.words()].chunks_mut((row * slot.size.height).max(1)) {
            let cut = if count == 1 {
                plane.len().max(1)
            } else {
                rows * row
            };
            for (part, chunk) in parts.iter_mut().zip(plane.chunks_mut(cut)) {
                part.push(chunk);
            }
        }
        for ((range, views), part) in bands.iter_mut().zip(parts) {
            views.push(ViewMut::new(
                part,
                slot.size,
                slot.element.words(),
                range.start,
            ));
        }
    }
    bands
}

fn time_zero(pass: &Pass) -> PassTime {
    PassTime {
        name: pass.kernel().name().to_owned(),
        time: Default::default(),
    }
}
