//! What the network of weights reads.

use super::{PLACE, frames_need, shader, value};
use limpid_core::simd::dispatch;
use limpid_core::{Result, Size};
use limpid_plan::fast_exp::fast_ln;
use limpid_plan::wgsl::{Wgsl, float};
use limpid_plan::{Contract, Dispatch, Element, Job, Kernel, Need, PassSlots, View};
use limpid_reference::definition::around::{
    APART, COMPARED, DARK, DIFFERENT, FARTHEST, NOISE, Pixel, differences, logarithms,
};
use limpid_reference::definition::neural::MOST;

/// Compares a frame with those before and after at a distance. Reads the squared noise, places, fetched colours and results times the
/// exposure, and fetched albedo and normals, if there are any. Writes what the network of weights reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Compare {
    /// Frames on each side that were fetched.
    pub radius: usize,
    /// The distance, from 1 on.
    pub away: usize,
    /// Channels of colour: 1 or 3.
    pub channels: usize,
    /// Whether there are albedo and normals.
    pub features: [bool; 2],
}

impl Compare {
    /// The index of a layer among the slots that are read: colour, result, albedo, normal.
    fn slot(&self, layer: usize) -> Option<usize> {
        match layer {
            0 | 1 => Some(2 + layer),
            2 => self.features[0].then_some(4),
            _ => self.features[1].then_some(4 + usize::from(self.features[0])),
        }
    }
}

impl Kernel for Compare {
    fn name(&self) -> &'static str {
        "compare frames"
    }

    fn contract(&self) -> Contract {
        let features = self.features.iter().filter(|f| **f).count();
        Contract::rows(4 + features, 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.writes[0].size;
        let mut needs = vec![
            Need::planes(size, 1),
            Need::planes(size, 2 * PLACE * self.away),
        ];
        for (i, slot) in pass.reads.iter().enumerate().skip(2) {
            let channels = if i < 4 { self.channels } else { 3 };
            needs.push(frames_need(slot, size, self.radius, channels));
        }
        needs.push(match pass.writes[0].element {
            Element::F32 => Need::planes(size, COMPARED),
            stored => Need::planes(size, COMPARED.div_ceil(4)).of(stored),
        });
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, _simd => run(self, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let mut source = Wgsl::default();
        let last = self.channels - 1;
        let swizzle = ["x", "y", "z"]
            .map(|c| if last == 0 { "x" } else { c })
            .concat();
        for (layer, name) in ["color", "result", "albedo", "normal"]
            .into_iter()
            .enumerate()
        {
            let channels = if layer < 2 { swizzle.as_str() } else { "xyz" };
            let value = match self.slot(layer) {
                Some(slot) => format!("{}.{channels}", value(pass, slot)),
                None => "vec3<f32>(0.0)".into(),
            };
            source = source.function(&format!("{name}_at(i: u32) -> vec3<f32>"), value);
        }
        let source = source
            .constant("FIRST", "u32", 2 * (self.away - 1))
            .constant("SHARE", "f32", float(self.away as f32 / FARTHEST as f32))
            .constant("DARK", "f32", float(DARK))
            .constant("APART", "f32", float(APART))
            .constant("DIFFERENT", "f32", float(DIFFERENT))
            .constant("LEAST", "f32", float(NOISE[0]))
            .constant("MOST", "f32", float(MOST))
            .body(include_str!("compare.wgsl"));
        Ok(shader(self, pass, 1.0, source))
    }

    fn work(&self) -> f32 {
        2.0
    }
}

/// A row of three channels of a frame, if there is one.
fn rows<'a>(view: Option<&View<'a>>, frame: usize, channels: usize, y: usize) -> [&'a [f32]; 3] {
    [0, 1, 2].map(|c: usize| {
        view.map_or(&[][..], |v| {
            v.row(frame * channels + c.min(channels - 1), y)
        })
    })
}

#[inline(always)]
fn run(kernel: &Compare, job: &mut Job<'_>) {
    let Job { reads, writes, .. } = job;
    let Size { width, .. } = writes[0].size();
    for y in job.rows.clone() {
        let frame = |frame: usize| {
            [0, 1, 2, 3].map(|layer| {
                let channels = if layer < 2 { kernel.channels } else { 3 };
                rows(kernel.slot(layer).map(|s| &reads[s]), frame, channels, y)
            })
        };
        let [own, before, after] = [0, 2 * kernel.away - 1, 2 * kernel.away].map(frame);
        let at = |layers: &[[&[f32]; 3]; 4], x: usize| {
            let three = |rows: [&[f32]; 3]| rows.map(|row| row.get(x).copied().unwrap_or(0.0));
            Pixel {
                color: three(layers[0]),
                result: three(layers[1]),
                albedo: three(layers[2]),
                normal: three(layers[3]),
            }
        };
        let found = [0, 1].map(|side| reads[1].row(PLACE * (2 * (kernel.away - 1) + side) + 2, y));
        let noise = reads[0].row(0, y);
        let to = writes[0].rows_n::<COMPARED>(y);
        for x in 0..width {
            let here = at(&own, x);
            let [light, r, g, b] = logarithms(&here).map(fast_ln);
            to[0][x] = light;
            // The logarithm of the square is twice that of the noise.
            to[1][x] = fast_ln(noise[x].max(NOISE[0] * NOISE[0])) / 8.0;
            to[2][x] = kernel.away as f32 / FARTHEST as f32;
            for (side, layers) in [&before, &after].into_iter().enumerate() {
                let mut made = [0.0, 0.0, 0.0, 0.0, DIFFERENT, DIFFERENT];
                if found[side][x] > 0.0 {
                    let there = at(layers, x);
                    let [_, r2, g2, b2] = logarithms(&there).map(fast_ln);
                    let [off, normal, albedo] = differences(&here, &there);
                    made = [r2 - r, g2 - g, b2 - b, off, normal, albedo];
                }
                for (c, v) in made.into_iter().enumerate() {
                    to[3 + 6 * side + c][x] = v;
                }
            }
        }
    }
}
