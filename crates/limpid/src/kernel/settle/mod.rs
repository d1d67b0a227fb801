//! Values in which noise is the same everywhere, and back: one thread or one loop step for each pixel.
//!
//! The definition is [`crate::definition::settle`]. The curves are numbers behind the parameters, so that another picture's
//! noise is the same shader.

use super::{Contract, Dispatch, Job, Kernel, Site, WgslStruct};
use crate::definition::shrink::OPPONENT;
use crate::noise::Settling;
use crate::{Result, params};

/// One of the two ways.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settle {
    /// The curves and scales.
    pub by: Settling,
    /// Whether it is the inverse.
    pub back: bool,
}

params! {
    /// Parameters of the shader; knots and scales are the numbers behind them.
    struct Params { pixels: u32, stride: u32, low: f32, step: f32 }
}

/// Threads of a workgroup.
const GROUP: u32 = 128;

impl Settle {
    fn curves(&self) -> &[Vec<f32>] {
        if self.back {
            &self.by.back
        } else {
            &self.by.into
        }
    }
}

impl Kernel for Settle {
    fn name(&self) -> &'static str {
        if self.back { "unsettle" } else { "settle" }
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let by = &self.by;
        for y in job.rows.clone() {
            if job.reads[0].planes() != 3 {
                let row = job.writes[0].row(0, y);
                for (out, v) in row.iter_mut().zip(job.reads[0].row(0, y)) {
                    *out = match self.back {
                        true => by.back(0, v * by.scales[0]),
                        false => by.value(0, *v) / by.scales[0],
                    };
                }
                continue;
            }
            let from: [&[f32]; 3] = std::array::from_fn(|c| job.reads[0].row(c, y));
            let width = from[0].len();
            let [r, g, b] = job.writes[0].rows_n::<3>(y);
            let (r, g, b) = (&mut r[..width], &mut g[..width], &mut b[..width]);
            for x in 0..width {
                let v: [f32; 3] = std::array::from_fn(|c| match self.back {
                    true => from[c][x] * by.scales[c],
                    false => by.value(c, from[c][x]),
                });
                let mix = |row: usize| -> f32 {
                    let entry = |c: usize| match self.back {
                        true => OPPONENT[c][row],
                        false => OPPONENT[row][c],
                    };
                    let sum = entry(0) * v[0] + entry(1) * v[1] + entry(2) * v[2];
                    match self.back {
                        true => by.back(row, sum),
                        false => sum / by.scales[row],
                    }
                };
                (r[x], g[x], b[x]) = (mix(0), mix(1), mix(2));
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let slot = site.reads[0];
        let pixels = slot.size.pixels() as u32;
        let groups = pixels.div_ceil(GROUP);
        let wide = groups.min(site.target.groups);
        let curves = self.curves();
        let knots = curves[0].len();
        let mut numbers = curves.concat();
        numbers.extend(&self.by.scales);
        let [a, b, c] = OPPONENT.map(|r| format!("vec3({:?}, {:?}, {:?})", r[0], r[1], r[2]));
        let source = format!(
            "{}const GROUP: u32 = {GROUP};\nconst PLANES: u32 = {};\nconst KNOTS: u32 = {knots};\nconst BACK: bool = {};\n\
             const A = {a};\nconst B = {b};\nconst C = {c};\n{}",
            Params::wgsl_with(numbers.len()),
            slot.planes,
            self.back,
            include_str!("gpu.wgsl")
        );
        let params = Params {
            pixels,
            stride: wide * GROUP,
            low: self.by.low,
            step: self.by.step,
        };
        let mut dispatch = Dispatch::own(source, &(), [wide, groups.div_ceil(wide), 1]);
        dispatch.params = params.bytes_with(&numbers);
        Ok(dispatch)
    }
}
