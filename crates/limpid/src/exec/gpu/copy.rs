//! The copy limit of a GPU, by a shader that copies 16 bytes per thread.

use super::{Gpu, GpuRunner};
use crate::exec::Runner;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};
use crate::plan::{Element, Plan, Role, Slot};
use crate::{Result, Size, Watch};
use std::time::{Duration, Instant};

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

    fn cpu(&self, job: &mut Job<'_>) {
        for y in job.rows.clone() {
            for plane in 0..job.reads[0].planes() {
                job.writes[0]
                    .row(plane, y)
                    .copy_from_slice(job.reads[0].row(plane, y));
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let source = "\
            @group(0) @binding(1) var<storage, read> src: array<vec4<f32>>;\n\
            @group(0) @binding(2) var<storage, read_write> dst: array<vec4<f32>>;\n\
            @compute @workgroup_size(256)\n\
            fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n\
                let i = (group.y * 256u + group.x) * 256u + lane;\n\
                if i < arrayLength(&src) { dst[i] = src[i]; }\n\
            }\n";
        let groups = (site.reads[0].size.pixels() as u32).div_ceil(256);
        let mut dispatch = Dispatch::own(source, &0u32, [256, groups.div_ceil(256), 1]);
        dispatch.params.clear();
        Ok(dispatch)
    }
}

impl Gpu {
    /// Times of copies of `bytes` bytes, measured on the device if possible.
    pub(crate) fn copy_times(&self, bytes: usize, runs: usize) -> Result<Vec<Duration>> {
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
            // The first rounds wake the device up.
            if round >= 3 {
                times.push(time.mul_f64(bytes as f64 / moved));
            }
        }
        Ok(times)
    }
}
