//! A plan on a GPU with transfers to and from images.

use super::Gpu;
use super::mapping::{Mapping, WAITS};
use super::ready::Ready;
use super::record::{Bindings, Bound, Recorder};
use super::resource::{self, Resource};
use super::transfer;
use crate::clock::Instant;
use crate::{PassTime, Runner, Watch};
use limpid_core::{Error, Frame, Result};
use limpid_plan::{Plan, Role, SlotId};
use std::collections::VecDeque;
use std::task::Context;
use std::time::Duration;

/// A plan with all its memory, inputs and outputs included: build once, run many times.
#[derive(Debug)]
pub struct GpuRunner {
    gpu: Gpu,
    recorder: Recorder,
    bindings: Bindings,
    outside: Vec<Option<wgpu::Buffer>>,
    staging: wgpu::Buffer,
    /// Buffers for the results of started runs, used in turn.
    lanes: Vec<wgpu::Buffer>,
    /// Started runs, the oldest first.
    started: VecDeque<Started>,
    /// Two timestamps per pass, the buffer they are resolved to, and nanoseconds per tick.
    timer: Option<(wgpu::QuerySet, wgpu::Buffer, f32)>,
    times: Vec<PassTime>,
    /// Whether all passes are timed together.
    together: bool,
    residuals: Vec<Vec<f32>>,
}

/// A started run.
#[derive(Debug)]
struct Started {
    /// Its buffer.
    lane: usize,
    /// Its last submission.
    sent: wgpu::SubmissionIndex,
    /// Where nobody can wait for the submission, the buffer is mapped right away.
    mapping: Option<Mapping>,
}

impl GpuRunner {
    /// Compiles the plan and allocates its memory.
    pub fn new(gpu: &Gpu, plan: Plan) -> Result<Self> {
        let passes = plan.passes().len();
        let outputs = plan
            .slots()
            .iter()
            .filter(|s| matches!(s.role, Role::Output(_)));
        let bytes: usize = outputs.map(|s| s.bytes()).sum();
        // Allocating host memory that the device can write takes as long as compiling the shaders, so both run in parallel.
        let (recorder, staging) = rayon::join(
            || Recorder::new(gpu, plan),
            || gpu.guarded(|| Ok(transfer::read_buffer(gpu, bytes.max(16 * passes.max(1))))),
        );
        let (recorder, staging) = (recorder?, staging?);
        let plan = recorder.plan();
        let (outside, timer) = gpu.guarded(|| {
            let outside: Vec<Option<wgpu::Buffer>> = plan
                .slots()
                .iter()
                .map(|slot| match slot.role {
                    Role::Input(_) | Role::Output(_) => {
                        Some(resource::buffer(gpu, &slot.name, slot.bytes()))
                    }
                    _ => None,
                })
                .collect();
            // The timestamps of a repeated pass would cover its last round only.
            let once = plan.repeats().is_empty();
            let timed = gpu.timestamps() && passes > 0 && passes < 2048 && once;
            let timer = timed.then(|| timer(gpu, passes));
            Ok((outside, timer))
        })?;
        let bindings = recorder.bind_slots(|id| outside[id.0].clone().map(Resource::Buffer))?;
        let name = |p: &limpid_plan::Pass| PassTime {
            name: p.kernel().name().into(),
            time: Duration::ZERO,
        };
        let times = plan.passes().iter().map(name).collect();
        Ok(Self {
            gpu: gpu.clone(),
            recorder,
            bindings,
            outside,
            staging,
            lanes: Vec::new(),
            started: VecDeque::new(),
            timer,
            times,
            together: false,
            residuals: Vec::new(),
        })
    }

    /// Uploads the inputs.
    pub fn upload(&mut self, input: &Frame) -> Result<()> {
        let gpu = self.gpu.clone();
        gpu.guarded(|| {
            for (slot, buffer) in self.recorder.plan().slots().iter().zip(&self.outside) {
                if let (Role::Input(layer), Some(buffer)) = (&slot.role, buffer) {
                    let data = input.require(layer.clone())?.data();
                    if data.len() != slot.words() {
                        return Err(Error::mismatch(format!(
                            "'{layer}' has {} values, the plan was made for {}",
                            data.len(),
                            slot.words()
                        )));
                    }
                    transfer::write(&gpu, buffer, data);
                    gpu.0.transfers.up();
                }
            }
            Ok(())
        })
    }

    /// Runs all passes on data that is already on the device, without waiting for the end.
    pub fn compute(&mut self, watch: &Watch) -> Result<()> {
        let gpu = self.gpu.clone();
        gpu.guarded(|| self.submit(watch))
    }

    fn submit(&mut self, watch: &Watch) -> Result<()> {
        let bound = self.bindings.set(self.recorder.set());
        let mut encoder = self.encoder();
        let mut all = Vec::new();
        // Passes that are not recorded yet. To be timed, passes are recorded one by one.
        let mut list: Vec<&Ready> = Vec::new();
        let single = self.timer.is_some() && !self.together;
        for section in self.recorder.plan().sections() {
            let passes = &self.recorder.passes[section.passes];
            let mut residuals = Vec::new();
            // Where nobody can wait for a value, repetitions run to their full count.
            let until = section.until.as_ref().filter(|_| WAITS);
            let every = until.map_or(section.most, |u| u.every);
            let mut done = 0;
            while done < section.most {
                let rounds = every.max(1).min(section.most - done);
                for _ in 0..rounds {
                    watch.check()?;
                    match single {
                        true => passes
                            .iter()
                            .for_each(|ready| self.record(ready, &mut encoder, bound)),
                        false => list.extend(passes),
                    }
                }
                done += rounds;
                if let Some(u) = until {
                    self.recorder
                        .record_joined(&list, &mut encoder, bound, None);
                    list.clear();
                    let full = std::mem::replace(&mut encoder, self.encoder());
                    self.gpu.submit(full.finish(), watch)?;
                    let seen = self.first_value(u.slot, watch)?;
                    residuals.push(seen);
                    if seen <= u.at_most {
                        break;
                    }
                }
            }
            if until.is_some() {
                all.push(residuals);
            }
        }
        let queries = self.timer.as_ref().map(|(queries, _, _)| queries);
        let queries = queries.filter(|_| self.together);
        self.recorder
            .record_joined(&list, &mut encoder, bound, queries);
        self.residuals = all;
        if let Some((queries, resolved, _)) = &self.timer {
            encoder.resolve_query_set(queries, 0..2 * self.timed() as u32, resolved, 0);
        }
        self.gpu.submit(encoder.finish(), watch)?;
        // The frame ends here, after its last submission, however many submissions it took.
        self.recorder.advance();
        Ok(())
    }

    /// Waits for the device and reads the outputs back.
    pub fn download(&mut self, output: &mut Frame) -> Result<()> {
        self.fetch_outputs(output, &Watch::default())
    }

    fn fetch_outputs(&mut self, output: &mut Frame, watch: &Watch) -> Result<()> {
        let mut encoder = self.encoder();
        let bytes = self.copy_outputs(&mut encoder, &self.staging);
        let plan = self.recorder.plan();
        self.fetch(encoder, bytes, watch, |bytes| {
            transfer::read_outputs(plan, bytes, output)
        })
    }

    /// Copies all outputs to a buffer, one after the other. Returns their size in bytes.
    fn copy_outputs(&self, encoder: &mut wgpu::CommandEncoder, to: &wgpu::Buffer) -> u64 {
        let mut at = 0;
        for (slot, buffer) in self.recorder.plan().slots().iter().zip(&self.outside) {
            if let (Role::Output(_), Some(buffer)) = (&slot.role, buffer) {
                encoder.copy_buffer_to_buffer(buffer, 0, to, at, slot.bytes() as u64);
                at += slot.bytes() as u64;
            }
        }
        at
    }

    /// Waits for the device and reads the times of the passes.
    pub fn read_times(&mut self) -> Result<()> {
        let Some((_, resolved, period)) = &self.timer else {
            return Ok(());
        };
        let (bytes, period) = (16 * self.timed() as u64, f64::from(*period));
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(resolved, 0, &self.staging, 0, bytes);
        let mut times = std::mem::take(&mut self.times);
        let read = self.fetch(encoder, bytes, &Watch::default(), |bytes| {
            for (time, ticks) in times.iter_mut().zip(bytes.chunks_exact(16)) {
                let [begin, end] = bytemuck::pod_read_unaligned::<[u64; 2]>(ticks);
                let nanos = end.saturating_sub(begin) as f64 * period;
                time.time = Duration::from_nanos(nanos as u64);
            }
            Ok(())
        });
        self.times = times;
        read
    }

    /// Passes with individual times.
    fn timed(&self) -> usize {
        if self.together { 1 } else { self.times.len() }
    }

    /// Waits until the device has finished all submitted work.
    pub fn wait(&self) -> Result<()> {
        self.gpu.wait_for(None, &Watch::default())
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.gpu
            .device()
            .create_command_encoder(&Default::default())
    }

    fn record(&self, ready: &Ready, encoder: &mut wgpu::CommandEncoder, bound: &Bound) {
        let queries = self.timer.as_ref().map(|(queries, _, _)| queries);
        self.recorder.record_pass(ready, encoder, bound, queries);
    }

    fn first_value(&self, id: SlotId, watch: &Watch) -> Result<f32> {
        let own = self.recorder.resource(id);
        let buffer = match (own, &self.outside[id.0]) {
            (Some(Resource::Buffer(buffer)), _) | (None, Some(buffer)) => buffer,
            _ => {
                return Err(Error::unsupported(
                    "a repetition checks a buffer, not a texture",
                ));
            }
        };
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(buffer, 0, &self.staging, 0, 4);
        let mut value = f32::NAN;
        self.fetch(encoder, 4, watch, |bytes| {
            value = bytemuck::pod_read_unaligned(&bytes[..4]);
            Ok(())
        })?;
        Ok(value)
    }

    /// Submits copies to the staging buffer, waits for the device, and passes the first `bytes` of it to `read`.
    fn fetch(
        &self,
        encoder: wgpu::CommandEncoder,
        bytes: u64,
        watch: &Watch,
        read: impl FnOnce(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if bytes == 0 {
            return read(&[]);
        }
        let gpu = &self.gpu;
        gpu.guarded(|| {
            let sent = gpu.submit(encoder.finish(), watch)?;
            self.collect((&self.staging, sent), bytes, watch, read)
        })
    }

    /// Waits for a submission that fills a buffer, and passes the first `bytes` of it to `read`.
    fn collect(
        &self,
        (buffer, sent): (&wgpu::Buffer, wgpu::SubmissionIndex),
        bytes: u64,
        watch: &Watch,
        read: impl FnOnce(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mapping = Mapping::begin(buffer, bytes);
        self.gpu.wait_for(Some(sent), watch)?;
        self.gpu.0.transfers.down();
        mapping.read(&self.gpu, read)
    }
}

/// Maximum number of runs in flight.
const LANES: usize = 2;

impl Runner for GpuRunner {
    fn plan(&self) -> &Plan {
        self.recorder.plan()
    }

    fn run(&mut self, input: &Frame, output: &mut Frame, watch: &Watch) -> Result<()> {
        self.upload(input)?;
        self.compute(watch)?;
        self.fetch_outputs(output, watch)?;
        self.read_times()?;
        watch.done(1.0);
        Ok(())
    }

    /// Returns false for plans with repetitions: their end condition has to be read back during the run.
    fn begin(&mut self, input: &Frame, watch: &Watch) -> Result<bool> {
        let checks = WAITS && !self.plan().repeats().is_empty();
        if checks || self.started.len() == LANES {
            return Ok(false);
        }
        let gpu = self.gpu.clone();
        if self.lanes.is_empty() {
            let bytes = self.staging.size() as usize;
            let lane = |_| transfer::read_buffer(&gpu, bytes);
            self.lanes = gpu.guarded(|| Ok((0..LANES).map(lane).collect()))?;
        }
        let lane = self
            .started
            .back()
            .map_or(0, |last| (last.lane + 1) % LANES);
        self.upload(input)?;
        self.compute(watch)?;
        let mut encoder = self.encoder();
        let bytes = self.copy_outputs(&mut encoder, &self.lanes[lane]);
        let sent = gpu.guarded(|| gpu.submit(encoder.finish(), watch))?;
        self.started.push_back(Started {
            lane,
            sent,
            mapping: (!WAITS).then(|| Mapping::begin(&self.lanes[lane], bytes)),
        });
        Ok(true)
    }

    fn end(&mut self, output: &mut Frame, watch: &Watch) -> Result<()> {
        let none = || Error::unsupported("no run has been started");
        let started = self.started.pop_front().ok_or_else(none)?;
        let plan = self.recorder.plan();
        let outputs = plan
            .slots()
            .iter()
            .filter(|s| matches!(s.role, Role::Output(_)));
        let bytes = outputs.map(|s| s.bytes() as u64).sum();
        let read = |bytes: &[u8]| transfer::read_outputs(plan, bytes, output);
        let lane = &self.lanes[started.lane];
        self.gpu.guarded(|| match &started.mapping {
            Some(mapping) => mapping.read(&self.gpu, read),
            None => self.collect((lane, started.sent), bytes, watch, read),
        })?;
        watch.done(1.0);
        Ok(())
    }

    fn has_ended(&mut self, context: &Context<'_>) -> bool {
        let oldest = self.started.front();
        let mapping = oldest.and_then(|started| started.mapping.as_ref());
        mapping.is_none_or(|m| m.is_done(context)) && self.gpu.0.pending.is_done(context)
    }

    fn abandon(&mut self) {
        self.started.clear();
    }

    fn update(&mut self, plan: &Plan) -> Result<bool> {
        self.recorder.update(plan)
    }

    fn reset(&mut self) {
        let mut encoder = self.encoder();
        self.recorder.reset(&mut encoder);
        self.gpu.queue().submit([encoder.finish()]);
    }

    /// Measured on the device; 0 if passes are repeated.
    fn times(&self) -> &[PassTime] {
        &self.times
    }

    fn residuals(&self) -> &[Vec<f32>] {
        &self.residuals
    }

    /// Takes effect if all passes are compute passes and none is repeated: a timestamp between passes lets the device idle.
    fn time_together(&mut self) {
        self.together = self.recorder.only_computes();
    }

    /// Warms up for half a second, because an idle GPU lowers its clock and raises it slowly (by a factor of 5 on an H200).
    /// Repeated passes have no timestamps; then wall-clock time is measured.
    fn measure(&mut self, frames: &[Frame], runs: usize) -> Result<Vec<Vec<PassTime>>> {
        let watch = Watch::default();
        let once = |runner: &mut Self| {
            let begin = Instant::now();
            runner.compute(&watch)?;
            runner.read_times()?;
            runner.wait()?;
            Ok(begin.elapsed())
        };
        // A single frame is uploaded once.
        let several = frames.len() > 1;
        if let [frame] = frames {
            self.upload(frame)?;
        }
        let begin = Instant::now();
        for frame in frames.iter().cycle() {
            if begin.elapsed() >= Duration::from_millis(500) {
                break;
            }
            if several {
                self.upload(frame)?;
            }
            once(self)?;
        }
        let repeats = !self.plan().repeats().is_empty();
        let mut times = Vec::with_capacity(runs);
        for frame in frames.iter().cycle().take(runs) {
            if several {
                self.upload(frame)?;
                self.wait()?;
            }
            let time = once(self)?;
            let name = "all passes".to_owned();
            times.push(match repeats {
                true => vec![PassTime { name, time }],
                false => self.times.clone(),
            });
        }
        Ok(times)
    }
}

fn timer(gpu: &Gpu, passes: usize) -> (wgpu::QuerySet, wgpu::Buffer, f32) {
    let count = 2 * passes as u32;
    let queries = gpu.device().create_query_set(&wgpu::QuerySetDescriptor {
        label: Some("times"),
        ty: wgpu::QueryType::Timestamp,
        count,
    });
    let resolved = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("times"),
        size: 8 * u64::from(count),
        usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    });
    (queries, resolved, gpu.queue().get_timestamp_period())
}
