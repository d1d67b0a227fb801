//! What the network of guides reads besides the frame of more samples.

use super::{BlendWeights, Row, shader, taken, trust_at, trust_need, weights_need};
use limpid_core::Result;
use limpid_core::simd::dispatch;
use limpid_plan::fast_exp::fast_ln;
use limpid_plan::wgsl::{Wgsl, float};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::around::{MORE, NOISE, OF_FEATURES};
use limpid_reference::definition::front;
use limpid_reference::definition::neural::MOST;
use std::f32::consts::LN_2;

/// Reads the squared noise, places, how much frames are trusted, the mean of results, the albedo of the frame of more samples, if there is
/// any, and the map of weights of each distance. Writes the logarithm of the mean over albedo, how much was taken of light and of features, and the noise.
#[derive(Debug, Clone, PartialEq)]
pub struct GuideInputs {
    /// Frames on each side.
    pub radius: usize,
    /// Channels of the mean: 1 or 3.
    pub channels: usize,
    /// Whether there is albedo.
    pub albedo: bool,
    /// The exposure.
    pub exposure: f32,
}

impl Kernel for GuideInputs {
    fn name(&self) -> &'static str {
        "known of frames"
    }

    fn contract(&self) -> Contract {
        let reads = 4 + usize::from(self.albedo) + self.radius;
        Contract::gather(reads, 1, Some(0))
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.writes[0].size;
        let mut needs = vec![
            Need::planes(size, 1),
            trust_need(BlendWeights::Features, size, self.radius),
            trust_need(BlendWeights::Light, size, self.radius),
            Need::planes(size, self.channels),
        ];
        needs.extend(self.albedo.then_some(Need::planes(size, 3)));
        let maps = pass.reads.iter().skip(needs.len());
        needs.extend(maps.map(|slot| weights_need(slot, size)));
        needs.push(Need::planes(size, MORE));
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, _simd => run(self, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let first = 4 + usize::from(self.albedo);
        let albedo = match self.albedo {
            true => "vec3(read4[i], read4[n + i], read4[2u * n + i])",
            false => "vec3<f32>(0.0)",
        };
        let source = Wgsl::default()
            .constant("LAST", "u32", self.channels - 1)
            .constant("LEAST", "f32", float(NOISE[0]))
            .constant("MOST", "f32", float(MOST))
            .constant("OF_FEATURES", "u32", OF_FEATURES)
            .function("albedo_at(i: u32, n: u32) -> vec3<f32>", albedo);
        let source = trust_at(source, "found_at", BlendWeights::Features, 1);
        let source = trust_at(source, "trust_at", BlendWeights::Light, 2);
        let source = taken(source, pass, self.radius, first).body(include_str!("known.wgsl"));
        Ok(shader(self, pass, self.exposure, source))
    }
}

#[inline(always)]
fn run(kernel: &GuideInputs, job: &mut Job<'_>) {
    let Job { reads, writes, .. } = job;
    let width = writes[0].size().width;
    let first = 4 + usize::from(kernel.albedo);
    let last = kernel.channels - 1;
    for y in job.rows.clone() {
        let means = [0, 1, 2].map(|c: usize| reads[3].row(c.min(last), y));
        let albedo = [0, 1, 2].map(|c| match kernel.albedo {
            true => reads[4].row(c, y),
            false => &[][..],
        });
        let noise = reads[0].row(0, y);
        let rows = [(2, BlendWeights::Light), (1, BlendWeights::Features)]
            .map(|(trust, of)| Row::new(&reads[trust], &reads[first..], of, y));
        let to = writes[0].rows_n::<MORE>(y);
        for x in 0..width {
            let below = albedo.map(|row| row.get(x).map_or(0.0, |v| v.clamp(0.0, 1.0)));
            let below = front::divisor(below);
            for c in 0..3 {
                let light = (means[c][x] * kernel.exposure / below[c]).clamp(0.0, MOST);
                to[c][x] = fast_ln(1.0 + light);
            }
            for (k, row) in rows.iter().enumerate() {
                let mut sum = 1.0;
                for frame in 0..2 * kernel.radius {
                    sum += row.at(frame, x);
                }
                to[3 + k][x] = fast_ln(sum) / (3.0 * LN_2);
            }
            to[5][x] = fast_ln(noise[x].max(NOISE[0] * NOISE[0])) / 8.0;
        }
    }
}
