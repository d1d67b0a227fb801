//! Variance stabilisation and its inverse: one thread or one loop iteration per pixel.
//!
//! The definition is [`limpid_reference::definition::stabilise`]. The curves are numbers after the parameters, so that images with
//! different noise use the same shader.

mod cpu;

use crate::own::own;
use limpid_core::{Error, Result};
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, WgslStruct};
use limpid_reference::definition::shrink::OPPONENT;
use limpid_reference::noise::Stabiliser;

/// Stabilises values, or the inverse.
#[derive(Debug, Clone, PartialEq)]
pub struct Stabilise {
    /// The curves and scales.
    pub by: Stabiliser,
    /// Whether it is the inverse.
    pub back: bool,
}

params! {
    /// Parameters of the shader; knots and scales are the numbers after them.
    struct Params { pixels: u32, stride: u32, low: f32, step: f32 }
}

/// Threads of a workgroup.
const GROUP: u32 = 128;

impl Stabilise {
    fn curves(&self) -> &[Vec<f32>] {
        if self.back {
            &self.by.back
        } else {
            &self.by.into
        }
    }
}

impl Kernel for Stabilise {
    fn name(&self) -> &'static str {
        if self.back { "restore" } else { "stabilise" }
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let planes = if pass.reads[0].planes == 1 { 1 } else { 3 };
        [Need::planes(pass.reads[0].size, planes); 2].to_vec()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::stabilise(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let slot = pass.reads[0];
        let pixels = slot.size.pixels() as u32;
        let groups = pixels.div_ceil(GROUP);
        let wide = groups.min(pass.target.groups);
        let curves = self.curves();
        let planes = if slot.planes == 1 { 1 } else { 3 };
        let knots = curves.first().map_or(0, Vec::len);
        let complete = curves.len() == planes && curves.iter().all(|c| c.len() == knots);
        if !complete || knots < 2 || self.by.scales.len() < planes {
            return Err(Error::unsupported(format!(
                "{}: a curve and a scale are needed for each of {planes} planes",
                self.name()
            )));
        }
        let mut numbers = curves.concat();
        numbers.extend(&self.by.scales);
        let [a, b, c] = OPPONENT.map(|r| format!("vec3({:?}, {:?}, {:?})", r[0], r[1], r[2]));
        let source = Wgsl::default()
            .body(&Params::wgsl_with(numbers.len()))
            .constant("GROUP", "u32", GROUP)
            .constant("PLANES", "u32", planes)
            .constant("KNOTS", "u32", knots)
            .constant("BACK", "bool", self.back)
            .constant("A", "vec3<f32>", a)
            .constant("B", "vec3<f32>", b)
            .constant("C", "vec3<f32>", c)
            .slots(pass, &["src", "dst"])
            .body(include_str!("gpu.wgsl"))
            .text();
        let params = Params {
            pixels,
            stride: wide * GROUP,
            low: self.by.low,
            step: self.by.step,
        };
        let groups = [wide, groups.div_ceil(wide), 1];
        let dispatch = Dispatch::compute(source, &(), groups);
        let dispatch = dispatch.with_params(params.bytes_with(&numbers));
        Ok(own(self, pass, dispatch))
    }
}
