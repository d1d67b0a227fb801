//! The last step: the filtered frame of more samples, and the mean of results.

use super::{PLACE, shader};
use limpid_core::Result;
use limpid_core::simd::dispatch;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Element, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::around::SHARE;
use limpid_reference::definition::neural::{DIVISOR, PRECISION};

/// Reads a filtered layer, the mean of its results, the planes of the network after the guides, with the share of the latter, and places.
/// Where nothing was found in other frames, the result is the mean, which is the frame's own.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// Frames on each side.
    pub radius: usize,
    /// Channels of the layer.
    pub channels: usize,
}

/// The level with which the share is stored on a GPU.
const LEVEL: usize = SHARE - DIVISOR;

impl Kernel for Mix {
    fn name(&self) -> &'static str {
        "mix frames"
    }

    fn contract(&self) -> Contract {
        Contract::rows(4, 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.writes[0].size;
        let layer = Need::planes(size, self.channels);
        let network = match pass.reads[2].element {
            Element::F32 => Need::planes(size, SHARE - PRECISION + 1),
            stored => Need::planes(size, LEVEL + 1).of(stored),
        };
        let places = Need::planes(size, 2 * PLACE * self.radius);
        vec![layer, layer, network, places, layer]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, _simd => run(self, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let share = match pass.reads[2].element {
            Element::F16x4 => "unpack2x16float(read2[i].y).y",
            _ => "read2[i].w",
        };
        let source = Wgsl::default()
            .constant("CHANNELS", "u32", self.channels)
            .constant("LEVEL", "u32", LEVEL)
            .constant("FRAMES", "u32", 2 * self.radius)
            .function("share_at(i: u32) -> f32", share)
            .body(include_str!("mix.wgsl"));
        Ok(shader(self, pass, 1.0, source))
    }
}

#[inline(always)]
fn run(kernel: &Mix, job: &mut Job<'_>) {
    let Job { reads, writes, .. } = job;
    let mut share = vec![0.0; writes[0].size().width];
    for y in job.rows.clone() {
        share.fill(0.0);
        for frame in 0..2 * kernel.radius {
            let found = reads[3].row(PLACE * frame + 2, y);
            share.iter_mut().zip(found).for_each(|(to, v)| *to += v);
        }
        for (to, v) in share.iter_mut().zip(reads[2].row(SHARE - PRECISION, y)) {
            *to = if *to > 0.0 { *v } else { 1.0 };
        }
        for c in 0..kernel.channels {
            let both = reads[0].row(c, y).iter().zip(reads[1].row(c, y));
            for ((to, (a, b)), share) in writes[0].row(c, y).iter_mut().zip(both).zip(&share) {
                *to = if *share == 1.0 {
                    *b
                } else {
                    a + share * (b - a)
                };
            }
        }
    }
}
