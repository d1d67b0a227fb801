//! A plan's passes with their pipelines, and its memory.

use super::Gpu;
use super::pipeline::Pipeline;
use super::resource::{self, Resource};
use limpid_core::{Error, Result};
use limpid_plan::Stage;
use limpid_plan::{Pass, Plan, Role, SlotId};
use std::sync::Arc;

/// A pass with its pipeline.
#[derive(Debug)]
pub(super) struct Ready {
    /// Its index among all passes.
    pub(super) number: usize,
    pub(super) name: &'static str,
    pub(super) pipeline: Arc<Pipeline>,
    /// The bound resources, in order.
    pub(super) slots: Vec<SlotId>,
    /// The render target.
    pub(super) targets: Vec<SlotId>,
    /// Offset and size of its parameters.
    pub(super) params: (u64, u64),
    pub(super) stage: Stage,
}

pub(super) fn memory(gpu: &Gpu, plan: &Plan) -> Vec<Option<Resource>> {
    let memory = plan.memory();
    let shared: Vec<wgpu::Buffer> = memory
        .buffers
        .iter()
        .map(|words| resource::buffer(gpu, "transient", 4 * words))
        .collect();
    let resource_of =
        |(slot, place): (&limpid_plan::Slot, &Option<usize>)| match (&slot.role, place) {
            (Role::Input(_) | Role::Output(_), _) => None,
            (Role::Data(words), _) => {
                let buffer = resource::buffer(gpu, &slot.name, slot.bytes());
                let bytes = bytemuck::cast_slice(words);
                gpu.queue().write_buffer(&buffer, 0, bytes);
                Some(Resource::Buffer(buffer))
            }
            (_, Some(at)) => Some(Resource::Buffer(shared[*at].clone())),
            (_, None) => Some(Resource::new(gpu, slot)),
        };
    plan.slots()
        .iter()
        .zip(&memory.place)
        .map(resource_of)
        .collect()
}

/// All passes of a plan, and the bytes of their parameters.
pub(super) fn prepare(gpu: &Gpu, plan: &Plan) -> Result<(Vec<Ready>, Vec<u8>)> {
    let mut uniforms = Vec::new();
    let ready = |(number, pass)| prepare_pass(gpu, plan, pass, &mut uniforms, number);
    let passes: Result<_> = plan.passes().iter().enumerate().map(ready).collect();
    Ok((passes?, uniforms))
}

fn prepare_pass(
    gpu: &Gpu,
    plan: &Plan,
    pass: &Pass,
    uniforms: &mut Vec<u8>,
    number: usize,
) -> Result<Ready> {
    let slots = pass.slots(plan, gpu.target());
    let name = pass.kernel().name();
    let dispatch = pass.kernel().gpu(&slots)?;
    if let Stage::Compute { groups } = dispatch.stage()
        && groups.iter().any(|n| *n > slots.target.groups)
    {
        return Err(Error::unsupported(format!(
            "{name}: {groups:?} workgroups are too many; run in tiles"
        )));
    }
    let pipeline = gpu.pipeline(name, &dispatch, &slots)?;
    // Uniform bindings start at multiples of 256 bytes, which every device accepts.
    uniforms.resize(uniforms.len().next_multiple_of(256), 0);
    let offset = uniforms.len() as u64;
    uniforms.extend(dispatch.params());
    uniforms.resize(uniforms.len().next_multiple_of(16), 0);
    let fragment = dispatch.stage() == Stage::Fragment;
    let writes = if fragment { &[][..] } else { pass.writes() };
    Ok(Ready {
        number,
        name,
        pipeline,
        slots: pass.reads().iter().chain(writes).copied().collect(),
        targets: if fragment {
            pass.writes().to_vec()
        } else {
            Vec::new()
        },
        params: (
            offset,
            (dispatch.params().len() as u64).next_multiple_of(16),
        ),
        stage: dispatch.stage(),
    })
}
