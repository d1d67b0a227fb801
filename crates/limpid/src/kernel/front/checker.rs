//! One buffer seen as two.

use super::per_pixel;
use crate::Result;
use crate::kernel::fast_exp::fast_exp;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};

/// The mean of a pixel's four neighbours, weighted by how alike their surfaces are ([`crate::definition::front::checkerboard`]).
/// Reads: the picture, classes, features if there are any. Writes: the means, and their variance as a share of a pixel's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Checkerboard {
    /// Whether there are features.
    pub(crate) features: bool,
    /// How many of them tell surfaces apart.
    pub(crate) sharp: usize,
}

const BESIDE: [(i64, i64); 4] = [(1, 0), (0, 1), (-1, 0), (0, -1)];

impl Kernel for Checkerboard {
    fn name(&self) -> &'static str {
        "checkerboard"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2 + usize::from(self.features), 2, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let size = job.writes[0].size();
        let [means, shares] = &mut job.writes[..] else {
            return;
        };
        for y in job.rows.clone() {
            for x in 0..size.width {
                let mut near = [(x, y, 0.0f32); 4];
                let (mut sum, mut squares) = (1e-6f32, 0.0);
                for ((dx, dy), near) in BESIDE.into_iter().zip(&mut near) {
                    let (i, j) = (x as i64 + dx, y as i64 + dy);
                    let inside =
                        (0..size.width as i64).contains(&i) && (0..size.height as i64).contains(&j);
                    if !inside {
                        continue;
                    }
                    let (i, j) = (i as usize, j as usize);
                    let mut apart = 0.0;
                    for c in 0..self.sharp {
                        let off = job.reads[2].row(c, y)[x] - job.reads[2].row(c, j)[i];
                        apart += off * off;
                    }
                    let class = |x: usize, y: usize| job.reads[1].row(0, y)[x];
                    let other = if class(x, y) == class(i, j) { 0.0 } else { 9.0 };
                    let w = fast_exp(-(50.0 * apart + other)) + 1e-4;
                    *near = (i, j, w);
                    sum += w;
                    squares += w * w;
                }
                for c in 0..means.planes() {
                    let total: f32 = near
                        .iter()
                        .map(|(i, j, w)| w * job.reads[0].row(c, *j)[*i])
                        .sum();
                    means.row(c, y)[x] = total / sum;
                }
                shares.row(0, y)[x] = squares / (sum * sum);
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let n = site.writes[0].planes;
        let apart = if self.features {
            format!(
                "for (var c = 0u; c < {}u; c++) {{
            let off = read2[c * p.pixels + i] - read2[c * p.pixels + j];
            apart += off * off;
        }}",
                self.sharp
            )
        } else {
            String::new()
        };
        let body = format!(
            "    var sum = 1e-6;
    var squares = 0.0;
    var total: array<f32, {n}>;
    for (var k = 0u; k < 4u; k++) {{
        let q = vec2(i32(x), i32(y)) + vec2(select(0, 1 - i32(k), k % 2u == 0u), select(0, 2 - i32(k), k % 2u == 1u));
        if q.x < 0 || q.y < 0 || q.x >= i32(p.width) || q.y >= i32(p.height) {{ continue; }}
        let j = u32(q.y) * p.width + u32(q.x);
        var apart = 0.0;
        {apart}
        let other = select(9.0, 0.0, read1[i] == read1[j]);
        let w = fast_exp(-(50.0 * apart + other)) + 1e-4;
        sum += w;
        squares += w * w;
        for (var c = 0u; c < {n}u; c++) {{ total[c] += w * read0[c * p.pixels + j]; }}
    }}
    for (var c = 0u; c < {n}u; c++) {{ write0[c * p.pixels + i] = total[c] / sum; }}
    write1[i] = squares / (sum * sum);
"
        );
        Ok(per_pixel(site, [0.0; 4], "", &body))
    }
}
