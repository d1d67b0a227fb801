//! A plan prepared for an engine's command encoder.

use super::Gpu;
use super::LayerResources;
use super::pipeline::{Bind, Kind};
use super::ready::{Ready, memory, prepare};
use super::resource::Resource;
use limpid_core::{Error, Result};
use limpid_plan::Stage;
use limpid_plan::{Backing, Plan, Role, SlotId};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A plan with its pipelines and its transient and history memory.
///
/// Building compiles and allocates; [`Recorder::record`] does neither, nor does it submit or wait. Each call records the next
/// frame: if a plan swaps history, two sets of bindings alternate, so frames must be submitted in the order in which they
/// were recorded.
#[derive(Debug)]
pub struct Recorder {
    /// Unique number of this recorder, which its bindings also carry.
    id: u64,
    gpu: Gpu,
    plan: Plan,
    pub(super) passes: Vec<Ready>,
    /// Memory of transient and history slots; `None` for inputs and outputs.
    own: Vec<Option<Resource>>,
    params: wgpu::Buffer,
    sampler: wgpu::Sampler,
    /// The set of bindings for the next frame: 1 while swapped slots are exchanged.
    set: AtomicUsize,
}

/// A recorder's passes bound to given inputs and outputs: created once, recorded many times.
#[derive(Debug)]
pub struct Bindings {
    /// The recorder that created them.
    recorder: u64,
    /// One for each set: two if history is swapped.
    sets: Vec<Bound>,
}

impl Bindings {
    pub(super) fn set(&self, set: usize) -> &Bound {
        &self.sets[set % self.sets.len()]
    }
}

/// The resources of all passes, by index.
#[derive(Debug)]
pub(super) struct Bound {
    groups: Vec<wgpu::BindGroup>,
    targets: Vec<Vec<wgpu::TextureView>>,
}

impl Recorder {
    /// Compiles the plan's shaders and allocates its memory.
    pub fn new(gpu: &Gpu, plan: Plan) -> Result<Self> {
        plan.check()?;
        let target = gpu.target();
        for slot in plan.slots() {
            // Shaders count elements in 32 bits.
            let most = target.binding_bytes.min(u64::from(u32::MAX));
            if slot.backing == Backing::Buffer && slot.bytes() as u64 > most {
                return Err(Error::unsupported(format!(
                    "slot '{}' needs {} bytes, {} binds at most {}; run in tiles",
                    slot.name,
                    slot.bytes(),
                    gpu.name(),
                    most
                )));
            }
            if slot.backing != Backing::Buffer && slot.planes != 1 {
                return Err(Error::unsupported(format!(
                    "slot '{}': a texture has one plane",
                    slot.name
                )));
            }
        }
        let (passes, uniforms) = prepare(gpu, &plan)?;
        gpu.may_take(plan.memory().bytes())?;
        let own = gpu.guarded(|| Ok(memory(gpu, &plan)))?;
        let params = gpu.guarded(|| {
            let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: Some("params"),
                size: (uniforms.len() as u64).max(16),
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            gpu.queue().write_buffer(&buffer, 0, &uniforms);
            Ok(buffer)
        })?;
        let sampler = gpu.device().create_sampler(&wgpu::SamplerDescriptor {
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            ..Default::default()
        });
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            gpu: gpu.clone(),
            plan,
            passes,
            own,
            params,
            sampler,
            set: AtomicUsize::new(0),
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Updates the parameters to those of another plan. Nothing is compiled or allocated, and bindings and history are kept.
    /// Returns false and changes nothing if that plan has other slots, passes or shaders.
    pub fn update(&mut self, plan: &Plan) -> Result<bool> {
        if !self.plan.same_form(plan) {
            return Ok(false);
        }
        let (mut passes, uniforms) = prepare(&self.gpu, plan)?;
        let same = |(a, b): (&Ready, &Ready)| a.pipeline.same(&b.pipeline) && a.params == b.params;
        if passes.len() != self.passes.len() || !self.passes.iter().zip(&passes).all(same) {
            return Ok(false);
        }
        self.gpu.guarded(|| {
            let queue = self.gpu.queue();
            queue.write_buffer(&self.params, 0, &uniforms);
            let pairs = plan.slots().iter().zip(self.plan.slots()).zip(&self.own);
            for ((new, old), own) in pairs {
                if let (Role::Data(words), Some(Resource::Buffer(buffer))) = (&new.role, own)
                    && new.role != old.role
                {
                    queue.write_buffer(buffer, 0, bytemuck::cast_slice(words));
                }
            }
            Ok(())
        })?;
        // Bindings belong to the pipelines that are there.
        for (pass, own) in passes.iter_mut().zip(&self.passes) {
            pass.pipeline = own.pipeline.clone();
        }
        self.passes = passes;
        self.plan = plan.clone();
        Ok(true)
    }

    /// The memory of a transient or history slot in the next frame. Tables are not to be changed from outside: `None`.
    pub fn resource(&self, id: SlotId) -> Option<&Resource> {
        if matches!(self.plan.slots().get(id.0)?.role, Role::Data(_)) {
            return None;
        }
        let id = match self.set() {
            0 => id,
            _ => self.partner(id).unwrap_or(id),
        };
        self.own.get(id.0).and_then(Option::as_ref)
    }

    /// The set of bindings of the next frame.
    pub(super) fn set(&self) -> usize {
        self.set.load(Ordering::Relaxed)
    }

    /// Ends a frame: exchanges swapped slots. Returns the set of bindings that it used.
    pub(super) fn advance(&self) -> usize {
        let by = usize::from(!self.plan.swaps().is_empty());
        self.set.fetch_xor(by, Ordering::Relaxed)
    }

    /// The slot that a slot is swapped with.
    fn partner(&self, id: SlotId) -> Option<SlotId> {
        let mut swaps = self.plan.swaps().iter();
        swaps.find_map(|[a, b]| match id {
            id if id == *a => Some(*b),
            id if id == *b => Some(*a),
            _ => None,
        })
    }

    /// Binds the memory of inputs and outputs by layer. Returns an error if memory is missing, smaller than its slot, of a
    /// different format, or lacks a usage that the plan needs.
    pub fn bind(&self, ports: &LayerResources) -> Result<Bindings> {
        ports.check(&self.plan)?;
        let outside = |id: &SlotId| self.own[id.0].is_none();
        for id in (0..self.own.len()).map(SlotId).filter(outside) {
            ports.of(&self.plan, id)?;
        }
        self.bind_slots(|id| ports.of(&self.plan, id).ok())
    }

    /// The same by slot: `outside` returns the memory of each input and output slot of the plan.
    pub fn bind_slots(&self, outside: impl Fn(SlotId) -> Option<Resource>) -> Result<Bindings> {
        let mut all = Vec::with_capacity(self.own.len());
        for (i, own) in self.own.iter().enumerate() {
            let missing = || {
                Error::input(format!(
                    "no memory was given for '{}'",
                    self.plan.slots()[i].name
                ))
            };
            all.push(match own {
                Some(resource) => resource.clone(),
                None => {
                    let resource = outside(SlotId(i)).ok_or_else(missing)?;
                    resource.check(&self.plan.slots()[i])?;
                    resource
                }
            });
        }
        let passes = &self.passes;
        self.check_usages(&all)?;
        self.gpu.guarded(|| {
            let groups = passes.iter().map(|ready| self.group(ready, &all)).collect();
            let targets = passes.iter().map(|ready| views(ready, &all)).collect();
            let mut sets = vec![Bound { groups, targets }];
            if !self.plan.swaps().is_empty() {
                for [a, b] in self.plan.swaps() {
                    all.swap(a.0, b.0);
                }
                // Passes without swapped slots share their bindings.
                let moved =
                    |ready: &Ready| ready.slots.iter().any(|id| self.partner(*id).is_some());
                let shared = &sets[0].groups;
                let group = |(ready, group): (&Ready, &wgpu::BindGroup)| match moved(ready) {
                    true => self.group(ready, &all),
                    false => group.clone(),
                };
                let groups = passes.iter().zip(shared).map(group).collect();
                let targets = passes.iter().map(|ready| views(ready, &all)).collect();
                sets.push(Bound { groups, targets });
            }
            Ok(Bindings {
                recorder: self.id,
                sets,
            })
        })
    }

    /// Textures must have the usages that the passes need.
    fn check_usages(&self, all: &[Resource]) -> Result<()> {
        for (ready, pass) in self.passes.iter().zip(self.plan.passes()) {
            let written = match computes(ready) {
                true => wgpu::TextureUsages::STORAGE_BINDING,
                false => wgpu::TextureUsages::RENDER_ATTACHMENT,
            };
            let reads = pass
                .reads()
                .iter()
                .map(|id| (id, wgpu::TextureUsages::TEXTURE_BINDING));
            for (id, usage) in reads.chain(pass.writes().iter().map(|id| (id, written))) {
                if let Resource::Texture(view) = &all[id.0]
                    && !view.texture().usage().contains(usage)
                {
                    return Err(Error::input(format!(
                        "memory of '{}': a texture without the usage {usage:?}, which '{}' needs",
                        self.plan.slots()[id.0].name,
                        ready.name
                    )));
                }
            }
        }
        Ok(())
    }

    fn group(&self, ready: &Ready, all: &[Resource]) -> wgpu::BindGroup {
        let mut slots = ready.slots.iter();
        let mut entries = Vec::with_capacity(ready.pipeline.binds().len());
        for (binding, bind) in ready.pipeline.binds() {
            let resource = match bind {
                Bind::Uniform => wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &self.params,
                    offset: ready.params.0,
                    size: std::num::NonZeroU64::new(ready.params.1),
                }),
                Bind::Sampler => wgpu::BindingResource::Sampler(&self.sampler),
                _ => match slots.next() {
                    Some(id) => all[id.0].binding(),
                    None => continue,
                },
            };
            entries.push(wgpu::BindGroupEntry {
                binding: *binding,
                resource,
            });
        }
        self.gpu
            .device()
            .create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(ready.name),
                layout: &ready.pipeline.layout,
                entries: &entries,
            })
    }

    /// Records the whole plan without submitting, waiting or allocating GPU memory; repetitions run to their full count.
    /// Consecutive compute passes share one compute pass of the encoder. Bindings of another recorder are an error.
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder, bindings: &Bindings) -> Result<()> {
        self.check_bindings(bindings)?;
        let bound = bindings.set(self.advance());
        let mut list = Vec::new();
        for section in self.plan.sections() {
            for _ in 0..section.most {
                list.extend(&self.passes[section.passes.clone()]);
            }
        }
        self.record_joined(&list, encoder, bound, None);
        Ok(())
    }

    /// Records the whole plan like [`Recorder::record`], with timestamps around each pass: `queries` needs two entries per pass
    /// of [`Plan::passes`], not counting repetitions.
    pub fn record_timed(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        bindings: &Bindings,
        queries: &wgpu::QuerySet,
    ) -> Result<()> {
        self.check_bindings(bindings)?;
        let bound = bindings.set(self.advance());
        for ready in &self.passes {
            self.record_pass(ready, encoder, bound, Some(queries));
        }
        Ok(())
    }

    /// Shaders are compiled without bounds checks for the sizes of this recorder's memory, so they must never run on other
    /// memory.
    fn check_bindings(&self, bindings: &Bindings) -> Result<()> {
        match bindings.recorder == self.id {
            true => Ok(()),
            false => Err(Error::input(
                "these bindings belong to another recorder; bind the memory with this one",
            )),
        }
    }

    /// Whether all passes are compute passes and none is repeated: then they share one compute pass of the encoder.
    pub(super) fn only_computes(&self) -> bool {
        self.plan.repeats().is_empty() && self.passes.iter().all(computes)
    }

    /// Records passes in order; consecutive compute passes share one compute pass of the encoder, which costs the driver less
    /// than one each. If all are compute passes, a query set gets two timestamps around all of them.
    pub(super) fn record_joined(
        &self,
        list: &[&Ready],
        encoder: &mut wgpu::CommandEncoder,
        bound: &Bound,
        timer: Option<&wgpu::QuerySet>,
    ) {
        for run in list.chunk_by(|a, b| computes(a) && computes(b)) {
            let [first, ..] = run else { continue };
            if !computes(first) {
                self.record_pass(first, encoder, bound, None);
                continue;
            }
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: None,
                timestamp_writes: timer.map(|queries| stamps(queries, 0)),
            });
            for ready in run {
                if let (Kind::Compute(pipeline), Stage::Compute { groups: [x, y, z] }) =
                    (&ready.pipeline.kind, ready.stage)
                {
                    pass.set_pipeline(pipeline);
                    pass.set_bind_group(0, &bound.groups[ready.number], &[]);
                    pass.dispatch_workgroups(x, y, z);
                }
            }
        }
    }

    /// Records one pass, with timestamps at its start and end if a query set is given.
    pub(super) fn record_pass(
        &self,
        ready: &Ready,
        encoder: &mut wgpu::CommandEncoder,
        bound: &Bound,
        timer: Option<&wgpu::QuerySet>,
    ) {
        let group = &bound.groups[ready.number];
        let first = 2 * ready.number as u32;
        match (&ready.pipeline.kind, ready.stage) {
            (Kind::Compute(pipeline), Stage::Compute { groups: [x, y, z] }) => {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                    label: Some(ready.name),
                    timestamp_writes: timer.map(|queries| stamps(queries, first)),
                });
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, group, &[]);
                pass.dispatch_workgroups(x, y, z);
            }
            (Kind::Fragment(pipeline), _) => {
                let attachments: Vec<_> =
                    bound.targets[ready.number].iter().map(attachment).collect();
                let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                    label: Some(ready.name),
                    color_attachments: &attachments,
                    timestamp_writes: timer.map(|query_set| wgpu::RenderPassTimestampWrites {
                        query_set,
                        beginning_of_pass_write_index: Some(first),
                        end_of_pass_write_index: Some(first + 1),
                    }),
                    ..Default::default()
                });
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, group, &[]);
                pass.draw(0..3, 0..1);
            }
            (Kind::Compute(_), Stage::Fragment) => {}
        }
    }

    /// Clears the history buffers in the given encoder.
    pub fn reset(&self, encoder: &mut wgpu::CommandEncoder) {
        for (slot, own) in self.plan.slots().iter().zip(&self.own) {
            if let (Role::History, Some(Resource::Buffer(buffer))) = (&slot.role, own) {
                encoder.clear_buffer(buffer, 0, None);
            }
        }
    }
}

fn computes(ready: &Ready) -> bool {
    matches!(ready.pipeline.kind, Kind::Compute(_))
}

/// Timestamps at the start and end of a pass.
fn stamps(query_set: &wgpu::QuerySet, first: u32) -> wgpu::ComputePassTimestampWrites<'_> {
    wgpu::ComputePassTimestampWrites {
        query_set,
        beginning_of_pass_write_index: Some(first),
        end_of_pass_write_index: Some(first + 1),
    }
}

fn attachment(view: &wgpu::TextureView) -> Option<wgpu::RenderPassColorAttachment<'_>> {
    Some(wgpu::RenderPassColorAttachment {
        view,
        depth_slice: None,
        resolve_target: None,
        ops: wgpu::Operations {
            load: wgpu::LoadOp::Load,
            store: wgpu::StoreOp::Store,
        },
    })
}

fn views(ready: &Ready, all: &[Resource]) -> Vec<wgpu::TextureView> {
    let view = |id: &SlotId| match &all[id.0] {
        Resource::Texture(view) => Some(view.clone()),
        Resource::Buffer(_) => None,
    };
    ready.targets.iter().filter_map(view).collect()
}
