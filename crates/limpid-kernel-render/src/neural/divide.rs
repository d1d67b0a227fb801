//! Multiplies the divisor by the factor of the network.

use crate::own::own;
use fearless_simd::Simd;
use limpid_core::Result;
use limpid_core::simd::dispatch;
use limpid_plan::fast_exp::fast_ln;
use limpid_plan::params;
use limpid_plan::wgsl::{PIXELS, Wgsl};
use limpid_plan::{Contract, Dispatch, Element, Job, Kernel, Need, PassSlots, WgslStruct, tiles};
use limpid_reference::definition::neural;
use limpid_reference::definition::neural::{DARK, DIVISOR_STEPS, FACTOR, PRECISION};

/// Reads the divisor, colour over it, and the planes of the network after the guides. Writes the divisor times its factor, and
/// colour over that, with its brightness.
#[derive(Debug, Clone, PartialEq)]
pub struct Divide;

/// The level after whose precisions the first plane of the factor is stored on a GPU.
const FACTOR_LEVEL: usize = DIVISOR_STEPS.len();

params! {
    /// Parameters of the shader.
    struct Params { width: u32, height: u32 }
}

impl Kernel for Divide {
    fn name(&self) -> &'static str {
        "neural-divide"
    }

    fn contract(&self) -> Contract {
        Contract::rows(3, 2, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.reads[0].size;
        let planes = |planes: usize| Need::planes(size, planes);
        match pass.reads[0].element {
            Element::F32 => {
                let network = planes(FACTOR - PRECISION + 3);
                vec![planes(3), planes(4), network, planes(3), planes(4)]
            }
            _ => {
                let four = planes(1).of(Element::F32x4);
                let levels = planes(FACTOR_LEVEL + 3).of(pass.reads[2].element);
                vec![four, four, levels, four, four]
            }
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => divide(simd, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let size = pass.reads[0].size;
        let half = pass.reads[2].element == Element::F16x4;
        let (stored, last) = match half {
            true => ("vec2<u32>", "unpack2x16float(others[i].y).y"),
            false => ("vec4<f32>", "others[i].w"),
        };
        let source = Wgsl::default()
            .body(Params::WGSL)
            .reads(1, "from_divisors", "vec4<f32>")
            .reads(2, "from_values", "vec4<f32>")
            .reads(3, "others", stored)
            .writes(4, "divisors", "vec4<f32>")
            .writes(5, "values", "vec4<f32>")
            .constant("FACTOR_LEVEL", "u32", FACTOR_LEVEL)
            .function("last_at(i: u32) -> f32", last)
            .body(include_str!("divide.wgsl"))
            .body(PIXELS)
            .text();
        let params = Params {
            width: size.width as u32,
            height: size.height as u32,
        };
        Ok(own(
            self,
            pass,
            Dispatch::compute(source, &params, tiles(size, 32, 8)),
        ))
    }
}

#[inline(always)]
fn divide<S: Simd>(_simd: S, job: &mut Job<'_>) {
    let Job { reads, writes, .. } = job;
    let [divisors, values] = &mut writes[..] else {
        return;
    };
    for y in job.rows.clone() {
        for c in 0..3 {
            let factor = reads[2].row(FACTOR - PRECISION + c, y);
            let to = divisors.row(c, y).iter_mut();
            for ((to, v), f) in to.zip(reads[0].row(c, y)).zip(factor) {
                *to = v * f;
            }
            let to = values.row(c, y).iter_mut();
            for ((to, v), f) in to.zip(reads[1].row(c, y)).zip(factor) {
                *to = v / f;
            }
        }
        let [r, g, b, bright] = values.rows_n::<4>(y);
        for (x, to) in bright.iter_mut().enumerate() {
            *to = fast_ln(neural::luminance([r[x], g[x], b[x]]).max(0.0) + DARK);
        }
    }
}
