//! A layer of the frame of more samples, or a mean of results.

use super::{Row, frames_need, shader, taken, trust_at, trust_need, value, weights_need};
use limpid_core::Result;
use limpid_core::simd::dispatch;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::around::{OF_FEATURES, OF_LIGHT, OF_RESULTS};

/// Which weights are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlendWeights {
    /// Those of noisy light.
    Light,
    /// Those of results.
    Results,
    /// Those of albedo and normal.
    Features,
}

impl BlendWeights {
    /// Where they are among the weights.
    pub(super) fn index(self) -> usize {
        match self {
            Self::Light => OF_LIGHT,
            Self::Results => OF_RESULTS,
            Self::Features => OF_FEATURES,
        }
    }
}

/// Blends a layer of a frame with those of the frames around. Reads the layer, the fetched frames, how much they are trusted (of features:
/// places), and the map of weights of each distance.
#[derive(Debug, Clone, PartialEq)]
pub struct Blend {
    /// Frames on each side.
    pub radius: usize,
    /// Which weights.
    pub of: BlendWeights,
    /// Channels of the layer.
    pub channels: usize,
    /// What fetched values were multiplied by.
    pub factor: f32,
}

impl Kernel for Blend {
    fn name(&self) -> &'static str {
        "blend frames"
    }

    fn contract(&self) -> Contract {
        Contract::gather(3 + self.radius, 1, Some(0))
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.writes[0].size;
        let layer = Need::planes(size, self.channels);
        let mut needs = vec![
            layer,
            frames_need(pass.reads[1], size, self.radius, self.channels),
            trust_need(self.of, size, self.radius),
        ];
        needs.extend(pass.reads[3..].iter().map(|slot| weights_need(slot, size)));
        needs.push(layer);
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, _simd => run(self, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let source = Wgsl::default()
            .constant("CHANNELS", "u32", self.channels)
            .constant("OF", "u32", self.of.index())
            .function("frame_at(i: u32) -> vec4<f32>", value(pass, 1));
        let source = trust_at(source, "trust_at", self.of, 2);
        let source = taken(source, pass, self.radius, 3).body(include_str!("blend.wgsl"));
        Ok(shader(self, pass, 1.0 / self.factor, source))
    }
}

#[inline(always)]
fn run(kernel: &Blend, job: &mut Job<'_>) {
    let Job { reads, writes, .. } = job;
    let (channels, frames) = (kernel.channels, 2 * kernel.radius);
    let width = writes[0].size().width;
    let (mut given, mut total) = (vec![0.0; width], vec![0.0; width]);
    for y in job.rows.clone() {
        let row = Row::new(&reads[2], &reads[3..], kernel.of, y);
        for c in 0..channels {
            writes[0].row(c, y).copy_from_slice(reads[0].row(c, y));
        }
        total.fill(1.0);
        for frame in 0..frames {
            for (x, (given, total)) in given.iter_mut().zip(&mut total).enumerate() {
                *given = row.at(frame, x);
                *total += *given;
            }
            for c in 0..channels {
                let from = reads[1].row((1 + frame) * channels + c, y);
                let to = writes[0].row(c, y).iter_mut();
                for ((to, v), weight) in to.zip(from).zip(&given) {
                    *to += weight * v / kernel.factor;
                }
            }
        }
        for c in 0..channels {
            let to = writes[0].row(c, y).iter_mut();
            to.zip(&total).for_each(|(to, total)| *to /= total);
        }
    }
}
