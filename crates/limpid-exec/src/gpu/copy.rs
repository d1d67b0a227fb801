//! The copy limit of a GPU, by a shader that copies 16 bytes per thread.

use super::{Gpu, GpuRunner};
use crate::Runner;
use crate::Watch;
use crate::clock::Instant;
use limpid_core::{Result, Size};
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Element, Kernel, Need, PassSlots, Plan, Role, Slot};
use std::time::Duration;

/// Copies one slot to another.
#[derive(Debug)]
struct Copy;

impl Kernel for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn gpu_only(&self) -> bool {
        true
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        [Need::planes(pass.reads[0].size, 1).of(Element::F32x4); 2].to_vec()
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let source = Wgsl::default()
            .slots(pass, &["src", "dst"])
            .body(include_str!("copy.wgsl"));
        let groups = (pass.reads[0].size.pixels() as u32).div_ceil(256);
        let groups = [256, groups.div_ceil(256), 1];
        let dispatch = Dispatch::compute(source.text(), &0u32, groups).with_params(Vec::new());
        // SAFETY: the shader reads and writes elements below the length of its source, which both slots have.
        Ok(unsafe { dispatch.trusted(pass.target, self.needs(pass)) })
    }
}

impl Gpu {
    /// Times of copies of `bytes` bytes, measured on the device if possible.
    pub fn copy_times(&self, bytes: usize, runs: usize) -> Result<Vec<Duration>> {
        let bytes = (bytes as u64).clamp(1 << 16, self.target().binding_bytes.min(1 << 30));
        let size = Size::new(4096, ((bytes / 16).div_ceil(4096) as usize).max(1));
        let mut plan = Plan::new("copy", size);
        let mut slot =
            |name: &str| plan.slot(Slot::new(name, Role::History, size, 1).element(Element::F32x4));
        let (src, dst) = (slot("from"), slot("to"));
        plan.pass(Copy, [src], [dst]);
        let moved = 16.0 * size.pixels() as f64;
        let mut runner = GpuRunner::new(self, plan)?;
        let watch = Watch::default();
        let mut times = Vec::new();
        for round in 0..runs.max(1) + 3 {
            let start = Instant::now();
            runner.compute(&watch)?;
            runner.wait()?;
            let wall = start.elapsed();
            runner.read_times()?;
            let device = runner.times()[0].time;
            let time = if device.is_zero() { wall } else { device };
            // The first rounds are warm-up.
            if round >= 3 {
                times.push(time.mul_f64(bytes as f64 / moved));
            }
        }
        Ok(times)
    }
}
