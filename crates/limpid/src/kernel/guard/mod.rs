//! The firefly guard: pixels far brighter than all around them are dimmed.
//!
//! A pixel whose luminance is above the mean of its 5×5 window plus four standard deviations, both without itself, is
//! scaled down to that. All that belongs to the colour is scaled alike, so that parts still add up.

mod cpu;

use super::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};
use crate::plan::{Element, Slot};
use crate::{LUMINANCE, Result, Size, params};
use std::fmt::Write;

/// The firefly guard on a packed slot whose first channels are colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guard {
    /// Channels of colour: 1 or 3.
    pub colors: usize,
    /// For each plane on the CPU, and each channel on the GPU, the power of the factor it is scaled with: 1 for light, 2
    /// for variance, 0 for what stays.
    pub powers: Powers,
    /// Whether values are rounded to half precision.
    pub half: bool,
}

/// Powers of the factor, by place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Powers {
    /// For each plane on the CPU.
    pub planes: Vec<u8>,
    /// For each plane of four channels on the GPU.
    pub vectors: Vec<[u8; 4]>,
}

/// Standard deviations above the mean that are let through.
pub(crate) const DEVIATIONS: f32 = 4.0;

/// Pixels to each side of the window.
const RADIUS: usize = 2;

params! {
    /// Parameters of the shader.
    struct Params { width: u32, height: u32 }
}

impl Guard {
    fn weights(&self) -> [f32; 3] {
        if self.colors == 3 {
            LUMINANCE
        } else {
            [1.0, 0.0, 0.0]
        }
    }
}

fn dispatch(slot: &Slot, source: String) -> Dispatch {
    let params = Params {
        width: slot.size.width as u32,
        height: slot.size.height as u32,
    };
    Dispatch::own(source, &params, tiles(slot.size, 32, 8))
}

impl Guard {
    /// The shader for a planar slot.
    fn planar(&self, slot: &Slot) -> Dispatch {
        let mut s = String::from(Params::WGSL);
        let light: Vec<String> = (0..self.colors)
            .map(|k| {
                let weight = self.weights()[k];
                format!("{weight:?} * src[{k}u * p.width * p.height + i]")
            })
            .collect();
        let _ = writeln!(
            s,
            "@group(0) @binding(1) var<storage, read> src: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;
const R: i32 = {RADIUS};
const DEVIATIONS: f32 = {DEVIATIONS:?};
fn light(i: u32) -> f32 {{
    return {};
}}",
            light.join(" + ")
        );
        s.push_str(include_str!("gpu.wgsl"));
        s.push_str("fn scale_all(i: u32, f: f32) {\n");
        for (plane, power) in self.powers.planes.iter().enumerate() {
            let factor = ["1.0", "f", "f * f"][usize::from(*power.min(&2))];
            let at = format!("{plane}u * p.width * p.height + i");
            let _ = writeln!(s, "    dst[{at}] = src[{at}] * {factor};");
        }
        s.push_str("}\n");
        dispatch(slot, s)
    }
}

impl Kernel for Guard {
    fn name(&self) -> &'static str {
        "guard"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, RADIUS)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::run(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let slot = site.reads[0];
        if slot.element == Element::F32 {
            return Ok(self.planar(slot));
        }
        let half = slot.element == Element::F16x4;
        let mut s = String::from(Params::WGSL);
        let kind = slot.element.wgsl();
        let [r, g, b] = self.weights();
        let (load, store) = if half {
            (
                "vec4(unpack2x16float(src[i].x), unpack2x16float(src[i].y))",
                "vec2(pack2x16float(v.xy), pack2x16float(v.zw))",
            )
        } else {
            ("src[i]", "v")
        };
        let _ = writeln!(
            s,
            "@group(0) @binding(1) var<storage, read> src: array<{kind}>;
@group(0) @binding(2) var<storage, read_write> dst: array<{kind}>;
const R: i32 = {RADIUS};
const DEVIATIONS: f32 = {DEVIATIONS:?};
fn load(i: u32) -> vec4<f32> {{
    return {load};
}}
fn store(i: u32, v: vec4<f32>) {{
    dst[i] = {store};
}}
fn light(i: u32) -> f32 {{
    return dot(load(i).xyz, vec3({r:?}, {g:?}, {b:?}));
}}"
        );
        s.push_str(include_str!("gpu.wgsl"));
        s.push_str("fn scale_all(i: u32, f: f32) {\n");
        for (v, powers) in self.powers.vectors.iter().enumerate() {
            let factor = powers.map(|p| ["1.0", "f", "f * f"][usize::from(p.min(2))]);
            let at = format!("{v}u * p.width * p.height + i");
            let _ = writeln!(
                s,
                "    store({at}, load({at}) * vec4({}));",
                factor.join(", ")
            );
        }
        s.push_str("}\n");
        Ok(dispatch(slot, s))
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(size.width)
    }
}
