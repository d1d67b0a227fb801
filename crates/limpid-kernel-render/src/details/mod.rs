//! Details between two levels, scaled by a gain: `sum += gain · (fine - coarse)`, plus the coarsest level at the end.

use crate::own::own;
use limpid_core::Result;
use limpid_plan::Element;
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, WgslStruct};

/// One level's part of the synthesis `c_N + Σ g_i (c_i - c_{i+1})`.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// Factor of the details.
    pub gain: f32,
    /// Whether the sum starts here.
    pub first: bool,
    /// Whether this is the last level, whose coarse image is added.
    pub last: bool,
}

params! {
    /// Parameters of the shader.
    struct Params { count: u32, across: u32, gain: f32, keep: f32, coarse: f32 }
}

impl Kernel for Details {
    fn name(&self) -> &'static str {
        "details"
    }

    fn contract(&self) -> Contract {
        let contract = Contract::rows(2, 1, 0);
        if self.first {
            contract
        } else {
            contract.updating()
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (slot, element) = (pass.writes[0], pass.reads[0].element);
        let image = Need::planes(slot.size, slot.planes);
        match slot.element {
            Element::F32 => vec![image; 3],
            _ => vec![
                image.of(element),
                image.of(element),
                image.of(Element::F32x4),
            ],
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for plane in 0..job.writes[0].planes() {
            for y in job.rows.clone() {
                let (fine, coarse) = (job.reads[0].row(plane, y), job.reads[1].row(plane, y));
                let sum = job.writes[0].row(plane, y);
                for ((s, f), c) in sum.iter_mut().zip(fine).zip(coarse) {
                    let before = if self.first { 0.0 } else { *s };
                    let end = if self.last { *c } else { 0.0 };
                    *s = before + self.gain * (f - c) + end;
                }
            }
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        const THREADS: u32 = 256;
        let slot = pass.writes[0];
        let count = (slot.size.pixels() * slot.planes) as u32;
        let groups = count.div_ceil(THREADS);
        let across = groups.min(32_768);
        let load = match pass.reads[0].element {
            Element::F16x4 => "vec4(unpack2x16float(v.x), unpack2x16float(v.y))",
            _ => "v",
        };
        let kind = pass.reads[0].element.wgsl();
        let source = Wgsl::default()
            .body(Params::WGSL)
            .reads(1, "fine", kind)
            .reads(2, "coarse", kind)
            .writes(3, "sum", "vec4<f32>")
            .constant("THREADS", "u32", THREADS)
            .function(&format!("load(v: {kind}) -> vec4<f32>"), load)
            .body(include_str!("gpu.wgsl"))
            .text();
        let params = Params {
            count,
            across: across * THREADS,
            gain: self.gain,
            keep: f32::from(u8::from(!self.first)),
            coarse: f32::from(u8::from(self.last)),
        };
        Ok(own(
            self,
            pass,
            Dispatch::compute(source, &params, [across, groups.div_ceil(across), 1]),
        ))
    }
}
