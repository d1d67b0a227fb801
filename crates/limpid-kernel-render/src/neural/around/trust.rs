//! How much the light of other frames is trusted.

use super::{PLACE, frames_need, shader, value};
use limpid_core::Result;
use limpid_core::simd::dispatch;
use limpid_plan::wgsl::{Wgsl, float};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::around::{BRIGHTER, DARK, trust};
use limpid_reference::definition::neural::MOST;

/// What the weights of the light of each frame around are multiplied by. Reads places and fetched results times the exposure. Where no place was
/// found it is zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Trust {
    /// Frames on each side.
    pub radius: usize,
    /// Channels of results: 1 or 3.
    pub channels: usize,
}

impl Kernel for Trust {
    fn name(&self) -> &'static str {
        "trust frames"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.writes[0].size;
        vec![
            Need::planes(size, 2 * PLACE * self.radius),
            frames_need(pass.reads[1], size, self.radius, self.channels),
            Need::planes(size, 2 * self.radius),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, _simd => run(self, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let channels = ["xxx", "xyz"][usize::from(self.channels > 1)];
        let source = Wgsl::default()
            .constant("FRAMES", "u32", 2 * self.radius)
            .constant("BRIGHTER", "f32", float(BRIGHTER))
            .constant("DARK", "f32", float(DARK))
            .constant("MOST", "f32", float(MOST))
            .function(
                "result_at(i: u32) -> vec3<f32>",
                format!("{}.{channels}", value(pass, 1)),
            )
            .body(include_str!("trust.wgsl"));
        Ok(shader(self, pass, 1.0, source))
    }
}

#[inline(always)]
fn run(kernel: &Trust, job: &mut Job<'_>) {
    let Job { reads, writes, .. } = job;
    let last = kernel.channels - 1;
    for y in job.rows.clone() {
        let frame = |frame: usize| {
            [0, 1, 2].map(|c: usize| reads[1].row(frame * kernel.channels + c.min(last), y))
        };
        let own = frame(0);
        for around in 0..2 * kernel.radius {
            let there = frame(1 + around);
            let found = reads[0].row(PLACE * around + 2, y);
            for (x, to) in writes[0].row(around, y).iter_mut().enumerate() {
                let at = |rows: [&[f32]; 3]| [rows[0][x], rows[1][x], rows[2][x]];
                *to = match found[x] > 0.0 {
                    true => trust(at(own), at(there)),
                    false => 0.0,
                };
            }
        }
    }
}
