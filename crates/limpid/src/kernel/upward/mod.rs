//! Details between two levels, shrunk where they are mostly noise, and summed up.
//!
//! Each channel is shrunk by its own threshold (BayesShrink): the noise's variance over the signal's deviation, which is estimated
//! from the mean square of details in a window around the pixel.

mod cpu;

use super::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};
use crate::definition::eaw::RADIUS;
use crate::plan::Element;
use crate::{Result, Size, params};

/// One level's part of the upward pass.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shrink {
    /// Channels of colour: 1 or 3.
    pub colors: usize,
    /// Variance of noise in the details of this level, for each channel.
    pub noise: [f32; 3],
    /// What the shrunk details are multiplied with.
    pub gain: f32,
    /// Whether the sum starts here.
    pub first: bool,
    /// Whether the coarse level is added: it is the last.
    pub last: bool,
}

params! {
    /// Parameters of the shader.
    struct Params { width: u32, height: u32, gain: f32, keep: f32, coarse: f32, noise0: f32, noise1: f32, noise2: f32 }
}

/// A detail without what is likely noise; `square` is the mean square of details around it.
#[inline(always)]
pub(crate) fn shrunk(detail: f32, square: f32, noise: f32) -> f32 {
    let signal = square - noise;
    let threshold = noise / signal.max(1e-20).sqrt();
    let left = (detail.abs() - threshold).max(0.0);
    if signal > 0.0 {
        left.copysign(detail)
    } else {
        0.0
    }
}

impl Kernel for Shrink {
    fn name(&self) -> &'static str {
        "shrink"
    }

    fn contract(&self) -> Contract {
        let contract = Contract::rows(2, 1, RADIUS);
        if self.first {
            contract
        } else {
            contract.updating()
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::run(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let slot = site.reads[0];
        let load = match slot.element {
            Element::F16x4 => "vec4(unpack2x16float(v.x), unpack2x16float(v.y))",
            _ => "v",
        };
        let kind = slot.element.wgsl();
        let source = format!(
            "{}const R: i32 = {RADIUS};
@group(0) @binding(1) var<storage, read> fine: array<{kind}>;
@group(0) @binding(2) var<storage, read> coarse: array<{kind}>;
@group(0) @binding(3) var<storage, read_write> sum: array<vec4<f32>>;
fn load(v: {kind}) -> vec4<f32> {{
    return {load};
}}
{}",
            Params::WGSL,
            include_str!("gpu.wgsl")
        );
        let params = Params {
            width: slot.size.width as u32,
            height: slot.size.height as u32,
            gain: self.gain,
            keep: f32::from(u8::from(!self.first)),
            coarse: f32::from(u8::from(self.last)),
            noise0: self.noise[0],
            noise1: self.noise[1],
            noise2: self.noise[2],
        };
        Ok(Dispatch::own(source, &params, tiles(slot.size, 32, 8)))
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(self.colors, size.width)
    }
}
