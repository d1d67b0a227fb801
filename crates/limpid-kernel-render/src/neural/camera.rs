//! The inputs of the network for photographs, and values without the noise that it computes.

use crate::own::own;
use fearless_simd::Simd;
use limpid_core::simd::dispatch;
use limpid_core::{Result, Size};
use limpid_plan::fast_exp::fast_exp;
use limpid_plan::params;
use limpid_plan::wgsl::{PIXELS, Wgsl, stored};
use limpid_plan::{Contract, Dispatch, Element, Job, Kernel, Need, PassSlots, WgslStruct, tiles};
use limpid_reference::definition::camera::{INPUTS, MOST, OUTPUTS};
use limpid_reference::definition::network::BLOCK;

params! {
    /// Parameters of the shaders.
    struct Params { width: u32, height: u32, map_width: u32, map_height: u32, gain0: f32, gain1: f32, gain2: f32 }
}

/// Reads an image and its stabilised values. Writes what the network reads.
#[derive(Debug, Clone, PartialEq)]
pub struct CameraInputs {
    /// Channels of the image: 1 or 3.
    pub channels: usize,
    /// Factors of luminance and colour differences.
    pub gains: [f32; 3],
}

impl Kernel for CameraInputs {
    fn name(&self) -> &'static str {
        "camera-inputs"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.reads[0].size;
        let image = Need::planes(size, self.channels);
        let made = match pass.writes[0].element {
            Element::F32 => Need::planes(size, INPUTS),
            stored => Need::planes(size, INPUTS / 4).of(stored),
        };
        vec![image, image, made]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => inputs(simd, self, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let size = pass.reads[0].size;
        let source = Wgsl::default()
            .body(Params::WGSL)
            .body(stored(pass.writes[0].element))
            .reads(1, "src", "f32")
            .reads(2, "stabilised", "f32")
            .writes(3, "inputs", "Stored")
            .constant("CHANNELS", "u32", self.channels)
            .body(include_str!("camera_inputs.wgsl"))
            .body(PIXELS)
            .text();
        Ok(own(
            self,
            pass,
            Dispatch::compute(source, &params(size, self.gains), tiles(size, 32, 8)),
        ))
    }
}

#[inline(always)]
fn inputs<S: Simd>(_simd: S, kernel: &CameraInputs, job: &mut Job<'_>) {
    let channels = kernel.channels;
    let Job { reads, writes, .. } = job;
    let share = 1.0 / channels as f32;
    for y in job.rows.clone() {
        for k in 0..INPUTS - 1 {
            let to = writes[0].row(k, y);
            if k >= channels {
                to.fill(0.0);
                continue;
            }
            for (to, v) in to.iter_mut().zip(reads[1].row(k, y)) {
                *to = v * kernel.gains[k];
            }
        }
        let to = writes[0].row(INPUTS - 1, y);
        to.fill(0.0);
        for c in 0..channels {
            let from = reads[0].row(c, y);
            to.iter_mut().zip(from).for_each(|(to, v)| *to += v * share);
        }
        to.iter_mut().for_each(|v| *v = v.clamp(0.0, 1.0));
    }
}

/// Reads stabilised values, and the map of their noise, in which the pixels of 2×2 blocks are planes. Writes values without the noise.
#[derive(Debug, Clone, PartialEq)]
pub struct WithoutNoise {
    /// Channels of the image: 1 or 3.
    pub channels: usize,
}

/// The size of the map for an image.
fn map(size: Size) -> Size {
    let half = |n: usize| n.next_multiple_of(BLOCK) / 2;
    Size::new(half(size.width), half(size.height))
}

fn params(size: Size, [gain0, gain1, gain2]: [f32; 3]) -> Params {
    let map = map(size);
    Params {
        width: size.width as u32,
        height: size.height as u32,
        map_width: map.width as u32,
        map_height: map.height as u32,
        gain0,
        gain1,
        gain2,
    }
}

impl Kernel for WithoutNoise {
    fn name(&self) -> &'static str {
        "camera-without-noise"
    }

    fn contract(&self) -> Contract {
        Contract::gather(2, 1, Some(0))
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.reads[0].size;
        let image = Need::planes(size, self.channels);
        let noise = match pass.reads[1].element {
            Element::F32 => Need::planes(map(size), 4 * OUTPUTS),
            stored => Need::planes(map(size), OUTPUTS).of(stored),
        };
        vec![image, noise, image]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => without(simd, self.channels, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let size = pass.reads[0].size;
        let source = Wgsl::default()
            .body(Params::WGSL)
            .body(stored(pass.reads[1].element))
            .reads(1, "src", "f32")
            .reads(2, "noise", "Stored")
            .writes(3, "dst", "f32")
            .constant("CHANNELS", "u32", self.channels)
            .constant("MOST", "f32", MOST)
            .body(include_str!("camera_without.wgsl"))
            .body(PIXELS)
            .text();
        Ok(own(
            self,
            pass,
            Dispatch::compute(source, &params(size, [1.0; 3]), tiles(size, 32, 8)),
        ))
    }
}

#[inline(always)]
fn without<S: Simd>(_simd: S, channels: usize, job: &mut Job<'_>) {
    let Job { reads, writes, .. } = job;
    for y in job.rows.clone() {
        for c in 0..channels {
            let noise = |dx: usize| reads[1].row(4 * c + 2 * (y % 2) + dx, y / 2);
            let (left, right) = (noise(0), noise(1));
            let to = writes[0].row(c, y);
            for ((to, v), (l, r)) in (to.chunks_mut(2))
                .zip(reads[0].row(c, y).chunks(2))
                .zip(left.iter().zip(right))
            {
                for ((to, v), noise) in to.iter_mut().zip(v).zip([*l, *r]) {
                    *to = v - bounded(noise);
                }
            }
        }
    }
}

/// The hyperbolic tangent, with exponents that are never positive.
#[inline(always)]
fn bounded(noise: f32) -> f32 {
    let power = fast_exp(-2.0 / MOST * noise.abs());
    (MOST * (1.0 - power) / (1.0 + power)).copysign(noise)
}
