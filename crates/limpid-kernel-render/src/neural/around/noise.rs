//! How far noisy light is from its result.

use super::shader;
use limpid_core::Result;
use limpid_core::simd::dispatch;
use limpid_plan::wgsl::{Wgsl, float};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::around::{DARK, NOISE, deviation};

/// The squared deviation of the light of a frame from its result, relative to it. Reads both colours.
#[derive(Debug, Clone, PartialEq)]
pub struct Deviation {
    /// Channels of both: 1 or 3.
    pub channels: usize,
    /// The exposure.
    pub exposure: f32,
}

impl Kernel for Deviation {
    fn name(&self) -> &'static str {
        "deviation"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.writes[0].size;
        let color = Need::planes(size, self.channels);
        vec![color, color, Need::planes(size, 1)]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, _simd => run(self, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let source = Wgsl::default()
            .constant("LAST", "u32", self.channels - 1)
            .constant("DARK", "f32", float(DARK))
            .constant("MOST", "f32", float(NOISE[1]))
            .body(include_str!("noise.wgsl"));
        Ok(shader(self, pass, self.exposure, source))
    }
}

#[inline(always)]
fn run(kernel: &Deviation, job: &mut Job<'_>) {
    let Job { reads, writes, .. } = job;
    let last = kernel.channels - 1;
    for y in job.rows.clone() {
        let [noisy, clean] =
            [0, 1].map(|k: usize| [0, 1, 2].map(|c: usize| reads[k].row(c.min(last), y)));
        for (x, to) in writes[0].row(0, y).iter_mut().enumerate() {
            let at = |rows: [&[f32]; 3]| [rows[0][x], rows[1][x], rows[2][x]];
            *to = deviation(at(noisy), at(clean), kernel.exposure);
        }
    }
}
