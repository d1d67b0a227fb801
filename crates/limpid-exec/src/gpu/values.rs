//! Numbers that stay on a device from call to call.

use super::device::{Gpu, locked};
use super::mapping::Mapping;
use super::resource::{self, Resource};
use super::{Recorder, transfer};
use crate::Watch;
use limpid_core::{Error, Result};
use limpid_plan::{Role, SlotId};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `f32` numbers kept on a device. Clones share them.
///
/// [`Recorder::apply`] makes new ones from them without a copy to the host and without waiting. Their memory is used again after
/// the last clone is gone.
///
/// ```no_run
/// # mod limpid { pub use limpid_exec::*; pub mod exec { pub use limpid_exec::*; } }
/// use limpid::exec::gpu::{Recorder, Values};
/// # fn twice(gpu: &limpid::gpu::Gpu, recorder: Recorder) -> Result<(), Box<dyn std::error::Error>> {
/// let first = Values::upload(gpu, &[1.0; 4096])?;
/// let second = recorder.apply(&[&first])?; // of a plan with an input of 4096 numbers
/// let third = recorder.apply(&[&second[0]])?;
/// let mut numbers = vec![0.0; third[0].count()];
/// third[0].download(&mut numbers)?; // waits
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Values(Arc<Held>);

#[derive(Debug)]
struct Held {
    gpu: Gpu,
    buffer: wgpu::Buffer,
    count: usize,
}

impl Values {
    /// Room for this many numbers, which are undefined.
    fn room(gpu: &Gpu, count: usize) -> Result<Self> {
        let bytes = 4 * count as u64;
        let most = gpu.target().binding_bytes.min(u64::from(u32::MAX));
        if bytes > most {
            return Err(Error::unsupported(format!(
                "an array of {bytes} bytes: {} binds at most {most}",
                gpu.name()
            )));
        }
        let buffer = match locked(&gpu.0.spare).take(bytes) {
            Some(buffer) => buffer,
            None => {
                gpu.may_take(bytes as usize)?;
                gpu.guarded(|| Ok(resource::buffer(gpu, "values", bytes as usize)))?
            }
        };
        let gpu = gpu.clone();
        Ok(Self(Arc::new(Held { gpu, buffer, count })))
    }

    /// A copy of numbers on a device.
    pub fn upload(gpu: &Gpu, numbers: &[f32]) -> Result<Self> {
        let made = Self::room(gpu, numbers.len())?;
        gpu.guarded(|| {
            transfer::write(gpu, &made.0.buffer, numbers);
            Ok(())
        })?;
        gpu.0.transfers.up();
        Ok(made)
    }

    /// Waits for the device and copies the numbers to the host: as many as there are, or the first ones.
    pub fn download(&self, to: &mut [f32]) -> Result<()> {
        if to.len() > self.count() {
            return Err(Error::mismatch(format!(
                "room for {} numbers, of which there are {}",
                to.len(),
                self.count()
            )));
        }
        if to.is_empty() {
            return Ok(());
        }
        let (gpu, bytes) = (self.gpu(), size_of_val(to));
        let watch = Watch::default();
        gpu.guarded(|| {
            let staging = transfer::read_buffer(gpu, bytes);
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(&self.0.buffer, 0, &staging, 0, bytes as u64);
            let sent = gpu.submit(encoder.finish(), &watch)?;
            let mapping = Mapping::begin(&staging, bytes as u64);
            gpu.wait_for(Some(sent), &watch)?;
            mapping.read(gpu, |bytes| {
                let parts = to.par_chunks_mut(1 << 20);
                let from = bytes.par_chunks(4 << 20);
                parts.zip(from).for_each(|(to, from)| {
                    bytemuck::cast_slice_mut(to).copy_from_slice(from);
                });
                Ok(())
            })
        })?;
        gpu.0.transfers.down();
        Ok(())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.count
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.0.gpu
    }

    /// The buffer that they are in, which may be longer. It must not be used after the last clone is gone.
    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.0.buffer
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        locked(&self.gpu.0.spare).keep(self.buffer.clone());
    }
}

impl Recorder {
    /// Runs the plan on numbers that are on its device, in the order of its inputs, and gives its outputs in their order. Nothing
    /// is copied to the host, and the call does not wait for the device; what runs later on the same device sees the results.
    pub fn apply(&self, inputs: &[&Values]) -> Result<Vec<Values>> {
        let gpu = self.gpu();
        let foreign = |values: &&&Values| !Arc::ptr_eq(&values.gpu().0, &gpu.0);
        if let Some(other) = inputs.iter().find(foreign) {
            return Err(Error::input(format!(
                "numbers on another device, {}; the plan was made for {}",
                other.gpu().name(),
                gpu.name()
            )));
        }
        let slots = self.plan().slots();
        let inward = |role: &Role| matches!(role, Role::Input(_));
        let wanted = slots.iter().filter(|s| inward(&s.role)).count();
        if wanted != inputs.len() {
            return Err(Error::mismatch(format!(
                "{} inputs for a plan with {wanted}",
                inputs.len()
            )));
        }
        let mut given = inputs.iter();
        let mut made = Vec::new();
        let mut bound: Vec<Option<Resource>> = Vec::with_capacity(slots.len());
        for slot in slots {
            bound.push(match slot.role {
                Role::Input(_) => given.next().map(|values| values.buffer().into()),
                Role::Output(_) => {
                    let values = Values::room(gpu, slot.words())?;
                    let resource = values.buffer().into();
                    made.push(values);
                    Some(resource)
                }
                _ => None,
            });
        }
        let bindings = self.bind_slots(|SlotId(i)| bound[i].clone())?;
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        self.record(&mut encoder, &bindings)?;
        gpu.submit(encoder.finish(), &Watch::default())?;
        Ok(made)
    }
}

/// Buffers that nobody uses. Work that is submitted later may write them, because a device works in order.
#[derive(Debug, Default)]
pub(super) struct Spare {
    /// The oldest first.
    kept: Vec<wgpu::Buffer>,
    bytes: u64,
}

/// The most that is kept, in bytes.
const MOST: u64 = 512 << 20;

impl Spare {
    /// The smallest buffer that has room, but not one that is far too large.
    fn take(&mut self, bytes: u64) -> Option<wgpu::Buffer> {
        let fits =
            |b: &wgpu::Buffer| (bytes..=bytes.saturating_add(bytes / 4 + 1024)).contains(&b.size());
        let all = self.kept.iter().enumerate().filter(|(_, b)| fits(b));
        let (found, _) = all.min_by_key(|(_, b)| b.size())?;
        let buffer = self.kept.remove(found);
        self.bytes -= buffer.size();
        Some(buffer)
    }

    fn keep(&mut self, buffer: wgpu::Buffer) {
        self.bytes += buffer.size();
        self.kept.push(buffer);
        while self.bytes > MOST {
            let oldest = self.kept.remove(0);
            self.bytes -= oldest.size();
        }
    }
}

/// Counts of copies between host and device.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    up: AtomicU64,
    down: AtomicU64,
}

impl Transfers {
    pub(super) fn up(&self) {
        self.up.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn down(&self) {
        self.down.fetch_add(1, Ordering::Relaxed);
    }
}

impl Gpu {
    /// How often images and [`Values`] were copied to the device, and from it, since it was opened.
    pub fn transfers(&self) -> (u64, u64) {
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        (count(&self.0.transfers.up), count(&self.0.transfers.down))
    }
}
