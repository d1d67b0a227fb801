//! The matrix and the right-hand side (Vicini 2015, Eq. 5.1 to 5.3, and the reweighting of `SOLVEL1`).

use super::{shader, weighed};
use crate::Result;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site, View};

/// The grid of the finest level. Reads the estimate, the base image and its differences; of each only its size matters as
/// long as all weights are one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weigh {
    /// How much the base image counts.
    pub alpha: f32,
    /// Squared weights `1 / (|e| + reg)` for a fit of least absolute errors; all one when none.
    pub reg: Option<f32>,
}

/// Bonds of a pixel: to the base image, right, down, left, up.
type Bonds = [f32; 5];

impl Weigh {
    fn bonds(&self, reads: &[View<'_>], x: usize, y: usize) -> Bonds {
        let size = reads[0].size();
        let value = |k: usize, c: usize, x: usize, y: usize| reads[k].row(c, y)[x];
        let weight = |error: &dyn Fn(usize) -> f32| match self.reg {
            None => 1.0,
            Some(reg) => {
                let squares = (0..reads[0].planes()).map(|c| error(c).powi(2));
                1.0 / (squares.sum::<f32>().sqrt() + reg)
            }
        };
        let right = |x: usize, y: usize| {
            weight(&|c| value(0, c, x + 1, y) - value(0, c, x, y) - value(2, c, x, y))
        };
        let down = |x: usize, y: usize| {
            weight(&|c| value(0, c, x, y + 1) - value(0, c, x, y) - value(3, c, x, y))
        };
        let base = weight(&|c| self.alpha * (value(0, c, x, y) - value(1, c, x, y)));
        [
            self.alpha * self.alpha * base,
            if x + 1 < size.width { right(x, y) } else { 0.0 },
            if y + 1 < size.height { down(x, y) } else { 0.0 },
            if x > 0 { right(x - 1, y) } else { 0.0 },
            if y > 0 { down(x, y - 1) } else { 0.0 },
        ]
    }
}

impl Kernel for Weigh {
    fn name(&self) -> &'static str {
        "weigh"
    }

    fn contract(&self) -> Contract {
        Contract::rows(4, 1, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for y in job.rows.clone() {
            let [bound, right, down, inverse] = job.writes[0].rows_n::<4>(y);
            for x in 0..bound.len() {
                let bonds = self.bonds(&job.reads, x, y);
                [bound[x], right[x], down[x]] = [bonds[0], bonds[1], bonds[2]];
                inverse[x] = 1.0 / bonds.iter().sum::<f32>();
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let channels = site.reads[0].planes;
        let weight = match self.reg {
            None => "1.0".to_owned(),
            Some(_) => "1.0 / (sqrt(squares) + p.reg)".to_owned(),
        };
        let edge = |name: &str, read: usize, step: &str| {
            format!(
                "fn {name}(i: u32) -> f32 {{
    var squares = 0.0;
    for (var c = 0u; c < {channels}u; c++) {{
        let at = c * p.pixels + i;
        let e = read0[at + {step}] - read0[at] - read{read}[at];
        squares += e * e;
    }}
    return {weight};
}}
"
            )
        };
        let functions = edge("right", 2, "1u")
            + &edge("down", 3, "p.width")
            + &format!(
                "fn base(i: u32) -> f32 {{
    var squares = 0.0;
    for (var c = 0u; c < {channels}u; c++) {{
        let e = p.alpha * (read0[c * p.pixels + i] - read1[c * p.pixels + i]);
        squares += e * e;
    }}
    return p.alpha * p.alpha * ({weight});
}}
"
            );
        let body = "    if x >= p.width || y >= p.height { return; }
    let i = y * p.width + x;
    var bonds = array<f32, 5>(base(i), 0.0, 0.0, 0.0, 0.0);
    if x + 1u < p.width { bonds[1] = right(i); }
    if y + 1u < p.height { bonds[2] = down(i); }
    if x > 0u { bonds[3] = right(i - 1u); }
    if y > 0u { bonds[4] = down(i - p.width); }
    write0[i] = bonds[0];
    write0[i + p.pixels] = bonds[1];
    write0[i + 2u * p.pixels] = bonds[2];
    write0[i + 3u * p.pixels] = 1.0 / (bonds[0] + bonds[1] + bonds[2] + bonds[3] + bonds[4]);
";
        let numbers = [self.alpha, self.reg.unwrap_or(0.0)];
        let size = site.writes[0].size;
        Ok(weighed(site, size, (&functions, body), numbers))
    }
}

/// `Aᵀ W² b`. Reads the grid, the base image and its differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RightSide;

impl Kernel for RightSide {
    fn name(&self) -> &'static str {
        "right-side"
    }

    fn contract(&self) -> Contract {
        Contract::rows(4, 1, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let grid = &job.reads[0];
        for c in 0..job.writes[0].planes() {
            for y in job.rows.clone() {
                let row = |k: usize, y: usize| job.reads[k].row(c, y);
                let (base, dx, dy) = (row(1, y), row(2, y), row(3, y));
                let (bound, right, down) = (grid.row(0, y), grid.row(1, y), grid.row(2, y));
                let out = job.writes[0].row(c, y);
                for x in 0..out.len() {
                    // The last column and row are bound by 0; what stands in them may be anything.
                    out[x] = bound[x] * base[x];
                }
                for x in 0..out.len() - 1 {
                    out[x] -= right[x] * dx[x];
                }
                for x in 1..out.len() {
                    out[x] += right[x - 1] * dx[x - 1];
                }
                if y + 1 < grid.size().height {
                    for x in 0..out.len() {
                        out[x] -= down[x] * dy[x];
                    }
                }
                if y > 0 {
                    let (down, dy) = (grid.row(2, y - 1), row(3, y - 1));
                    for x in 0..out.len() {
                        out[x] += down[x] * dy[x];
                    }
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let body = "    if x >= p.width || y >= p.height { return; }
    let i = y * p.width + x;
    for (var c = 0u; c < p.planes; c++) {
        let at = c * p.pixels + i;
        var sum = read0[i] * read1[at];
        if x + 1u < p.width { sum -= read0[p.pixels + i] * read2[at]; }
        if x > 0u { sum += read0[p.pixels + i - 1u] * read2[at - 1u]; }
        if y + 1u < p.height { sum -= read0[2u * p.pixels + i] * read3[at]; }
        if y > 0u { sum += read0[2u * p.pixels + i - p.width] * read3[at - p.width]; }
        write0[at] = sum;
    }
";
        Ok(shader(site, site.writes[0].size, "", body))
    }
}
