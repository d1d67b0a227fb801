//! Transfers between host and device memory.

use super::Gpu;
use limpid_core::{Error, Frame, Result};
use limpid_plan::{Plan, Role};
use rayon::prelude::*;

/// Values that one thread transfers at a time: a single thread does not saturate the bus.
const PIECE: usize = 1 << 20;

/// Writes values to a buffer.
pub(super) fn write(gpu: &Gpu, buffer: &wgpu::Buffer, values: &[f32]) {
    let pieces = values.par_chunks(PIECE).enumerate();
    pieces.for_each(|(i, piece)| {
        let at = (4 * PIECE * i) as u64;
        gpu.queue()
            .write_buffer(buffer, at, bytemuck::cast_slice(piece));
    });
}

/// A buffer that the device writes and the host reads.
pub(super) fn read_buffer(gpu: &Gpu, bytes: usize) -> wgpu::Buffer {
    gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("read back"),
        size: (bytes as u64).next_multiple_of(8),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Splits a buffer with all outputs, one after the other, into images.
pub(super) fn read_outputs(plan: &Plan, bytes: &[u8], output: &mut Frame) -> Result<()> {
    let words: &[f32] = bytemuck::cast_slice(bytes);
    let mut at = 0;
    for slot in plan.slots() {
        if let Role::Output(layer) = &slot.role {
            let image = output
                .get_mut(layer.clone())
                .filter(|i| i.data().len() == slot.words());
            let wrong = || {
                Error::input(format!(
                    "the output has no layer {layer} of the plan's size"
                ))
            };
            let to = image.ok_or_else(wrong)?.data_mut().par_chunks_mut(PIECE);
            let from = words[at..at + slot.words()].par_chunks(PIECE);
            to.zip(from).for_each(|(to, from)| to.copy_from_slice(from));
            at += slot.words();
        }
    }
    Ok(())
}
