//! A floor for variances: the fourth smallest of the 3×3 around a pixel.
//!
//! Columns are sorted, then rows: `a00 a01 a02`, `a10 a11 a12`, `a20 a21 a22` grow to the right and down. `a00` is the smallest,
//! `a12`, `a21` and `a22` have five or more below them, and the least of `a01` and `a10` is below all others. So the second
//! smallest of what is left, `max(a01, a10)`, `a11`, `a02` and `a20`, is wanted, of which the first is not above the second.

use super::per_pixel;
use crate::Result;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};

/// Each value, or the fourth smallest of the 3×3 around it where that is more ([`crate::definition::noise::floor`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floor;

/// Three values in order.
#[inline(always)]
fn sorted([a, b, c]: [f32; 3]) -> [f32; 3] {
    let (low, high) = (a.min(b), a.max(b));
    [low.min(c), low.max(high.min(c)), high.max(c)]
}

impl Kernel for Floor {
    fn name(&self) -> &'static str {
        "floor"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let src = &job.reads[0];
        let (last, bottom) = (src.size().width - 1, src.size().height - 1);
        for c in 0..src.planes() {
            for y in job.rows.clone() {
                let rows = [y.saturating_sub(1), y, (y + 1).min(bottom)].map(|y| src.row(c, y));
                let column = |x: usize| sorted(rows.map(|r| r[x]));
                let mut columns = [column(0), column(0), column(last.min(1))];
                for (x, out) in job.writes[0].row(c, y).iter_mut().enumerate() {
                    let [left, here, right] = columns;
                    let row = |k: usize| sorted([left[k], here[k], right[k]]);
                    let ([_, a01, a02], [a10, a11, _], [a20, ..]) = (row(0), row(1), row(2));
                    let fourth = a01.max(a10).max(a02.min(a20)).min(a11).min(a02.max(a20));
                    *out = rows[1][x].max(fourth);
                    columns = [here, right, column((x + 2).min(last))];
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let sorted = "fn sorted(v: vec3<f32>) -> vec3<f32> {
    let low = min(v.x, v.y);
    let high = max(v.x, v.y);
    return vec3(min(low, v.z), max(low, min(high, v.z)), max(high, v.z));
}
fn column(first: u32, x: u32, rows: vec3<u32>) -> vec3<f32> {
    let at = rows * p.width + first + x;
    return sorted(vec3(read0[at.x], read0[at.y], read0[at.z]));
}
";
        let body = "    let rows = vec3(max(y, 1u) - 1u, y, min(y + 1u, p.height - 1u));
    for (var c = 0u; c < p.planes; c++) {
        let first = c * p.pixels;
        let left = column(first, max(x, 1u) - 1u, rows);
        let here = column(first, x, rows);
        let right = column(first, min(x + 1u, p.width - 1u), rows);
        let a0 = sorted(vec3(left.x, here.x, right.x));
        let a1 = sorted(vec3(left.y, here.y, right.y));
        let a20 = min(left.z, min(here.z, right.z));
        let second = max(max(a0.y, a1.x), min(a0.z, a20));
        let fourth = min(min(second, a1.y), max(a0.z, a20));
        write0[first + i] = max(read0[first + i], fourth);
    }
";
        Ok(per_pixel(site, sorted, body))
    }
}
