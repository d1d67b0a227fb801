//! The multigrid preconditioner: one V-cycle from a guess of zero, a damped Jacobi step on each level before and after.
//!
//! The step before needs no pass of its own: from zero it is `ω D⁻¹ r`, made again wherever it is looked at. So a level has
//! two passes, [`Down`] and [`Up`].

use super::descent::{per_row, products};
use super::{OMEGA, PRODUCT, SHARE, product, shader};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site, View};
use crate::simd::dispatch;
use crate::{Result, Size};
use fearless_simd::Simd;

/// The size of the next coarser level.
pub(crate) fn coarse(size: Size) -> Size {
    Size::new(size.width.div_ceil(2), size.height.div_ceil(2))
}

/// The grid of the next coarser level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Coarsen;

impl Kernel for Coarsen {
    fn name(&self) -> &'static str {
        "coarsen"
    }

    fn contract(&self) -> Contract {
        Contract::gather(1, 1, None)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let fine = &job.reads[0];
        let size = fine.size();
        let value = |plane: usize, x: usize, y: usize| {
            if x < size.width && y < size.height {
                fine.row(plane, y)[x]
            } else {
                0.0
            }
        };
        // Bonds that leave the square at x, y to the right and down.
        let right = |x: usize, y: usize| SHARE * (value(1, x + 1, y) + value(1, x + 1, y + 1));
        let down = |x: usize, y: usize| SHARE * (value(2, x, y + 1) + value(2, x + 1, y + 1));
        for row in job.rows.clone() {
            let [bound, rights, downs, inverse] = job.writes[0].rows_n::<4>(row);
            for column in 0..bound.len() {
                let (x, y) = (2 * column, 2 * row);
                bound[column] = (value(0, x, y) + value(0, x + 1, y))
                    + (value(0, x, y + 1) + value(0, x + 1, y + 1));
                rights[column] = right(x, y);
                downs[column] = down(x, y);
                let left = if x > 0 { right(x - 2, y) } else { 0.0 };
                let up = if y > 0 { down(x, y - 2) } else { 0.0 };
                inverse[column] =
                    1.0 / (bound[column] + rights[column] + downs[column] + left + up);
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let functions = format!(
            "fn value(plane: u32, x: u32, y: u32) -> f32 {{
    if x >= p.width || y >= p.height {{ return 0.0; }}
    return read0[plane * p.pixels + y * p.width + x];
}}
fn right(x: u32, y: u32) -> f32 {{
    return {SHARE} * (value(1u, x + 1u, y) + value(1u, x + 1u, y + 1u));
}}
fn down(x: u32, y: u32) -> f32 {{
    return {SHARE} * (value(2u, x, y + 1u) + value(2u, x + 1u, y + 1u));
}}
"
        );
        let body = "    if x >= p.coarse_width || y >= p.coarse_height { return; }
    let i = y * p.coarse_width + x;
    let u = 2u * x;
    let v = 2u * y;
    let bound = (value(0u, u, v) + value(0u, u + 1u, v)) + (value(0u, u, v + 1u) + value(0u, u + 1u, v + 1u));
    var sum = bound + right(u, v) + down(u, v);
    if u > 0u { sum += right(u - 2u, v); }
    if v > 0u { sum += down(u, v - 2u); }
    write0[i] = bound;
    write0[i + p.coarse_pixels] = right(u, v);
    write0[i + 2u * p.coarse_pixels] = down(u, v);
    write0[i + 3u * p.coarse_pixels] = 1.0 / sum;
";
        Ok(shader(site, site.reads[0].size, &functions, body))
    }
}

/// What the first Jacobi step leaves of the residual, summed over 2×2 pixels. Reads grid and residual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Down;

impl Kernel for Down {
    fn name(&self) -> &'static str {
        "down"
    }

    fn contract(&self) -> Contract {
        Contract::gather(2, 1, None)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => restrict(simd, job));
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let functions = format!(
            "fn value(x: u32, y: u32, c: u32) -> f32 {{
    let i = y * p.width + x;
    return {OMEGA} * read0[3u * p.pixels + i] * read1[c * p.pixels + i];
}}
{PRODUCT}fn left(x: u32, y: u32, c: u32) -> f32 {{
    if x >= p.width || y >= p.height {{ return 0.0; }}
    return read1[c * p.pixels + y * p.width + x] - product(x, y, c);
}}
"
        );
        let body = "    if x >= p.coarse_width || y >= p.coarse_height { return; }
    let u = 2u * x;
    let v = 2u * y;
    for (var c = 0u; c < p.planes; c++) {
        let sum = (left(u, v, c) + left(u + 1u, v, c)) + (left(u, v + 1u, c) + left(u + 1u, v + 1u, c));
        write0[c * p.coarse_pixels + y * p.coarse_width + x] = sum;
    }
";
        Ok(shader(site, site.reads[0].size, &functions, body))
    }

    fn scratch(&self, size: Size) -> usize {
        // A fine row may be twice as wide: four rows of steps, one of products.
        5 * 2 * size.width
    }
}

/// `ω D⁻¹ r` of a row.
#[inline(always)]
fn jacobi(grid: &View<'_>, residual: &View<'_>, c: usize, y: usize, out: &mut [f32]) {
    let n = out.len();
    let (inverse, r) = (&grid.row(3, y)[..n], &residual.row(c, y)[..n]);
    for x in 0..n {
        out[x] = OMEGA * inverse[x] * r[x];
    }
}

#[inline(always)]
fn restrict<S: Simd>(_simd: S, job: &mut Job<'_>) {
    let (grid, residual) = (&job.reads[0], &job.reads[1]);
    let Size { width, height } = grid.size();
    let (steps, rest) = job.scratch.split_at_mut(4 * width);
    let line = &mut rest[..width];
    for c in 0..residual.planes() {
        for row in job.rows.clone() {
            let first = 2 * row;
            // Steps of the rows from `first - 1` to `first + 2`, as far as they exist.
            let rows = first.saturating_sub(1)..(first + 3).min(height);
            for y in rows.clone() {
                jacobi(grid, residual, c, y, &mut steps[(y % 4) * width..][..width]);
            }
            let out = job.writes[0].row(c, row);
            out.fill(0.0);
            for y in first..(first + 2).min(height) {
                let step = |y: usize| &steps[(y % 4) * width..][..width];
                let above = (y > 0).then(|| step(y - 1));
                let below = (y + 1 < height).then(|| step(y + 1));
                product(grid, y, above, step(y), below, line);
                for (l, r) in line.iter_mut().zip(residual.row(c, y)) {
                    *l = r - *l;
                }
                for (o, pair) in out.iter_mut().zip(line.chunks(2)) {
                    *o += pair.iter().sum::<f32>();
                }
            }
        }
    }
}

/// Adds the correction of the coarser level to the first Jacobi step, and makes another. Reads grid, residual and the
/// coarser level's correction; on the coarsest level, of one pixel, there is none, and the system is solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Up {
    /// Whether this is the coarsest level.
    pub coarsest: bool,
    /// Whether the products of residual and correction are summed, row by row, in a second slot: what the finest level is for.
    pub sums: bool,
}

impl Kernel for Up {
    fn name(&self) -> &'static str {
        "up"
    }

    fn contract(&self) -> Contract {
        let writes = 1 + usize::from(self.sums);
        Contract::gather(if self.coarsest { 2 } else { 3 }, writes, None)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        if self.coarsest {
            let mut sum = 0.0;
            for c in 0..job.writes[0].planes() {
                let (inverse, r) = (job.reads[0].row(3, 0)[0], job.reads[1].row(c, 0)[0]);
                job.writes[0].row(c, 0)[0] = inverse * r;
                sum += inverse * r * r;
            }
            if let Some(sums) = job.writes.get_mut(1) {
                sums.row(0, 0)[0] = sum;
            }
            return;
        }
        let level = job.level;
        dispatch!(level, simd => prolong(simd, job));
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let size = site.writes[0].size;
        if self.coarsest {
            let sum = if self.sums {
                "    write1[0] = sum;\n"
            } else {
                ""
            };
            let body = format!(
                "    if x > 0u || y > 0u {{ return; }}
    var sum = 0.0;
    for (var c = 0u; c < p.planes; c++) {{
        write0[c] = read0[3] * read1[c];
        sum += write0[c] * read1[c];
    }}
{sum}"
            );
            return Ok(shader(site, size, "", &body));
        }
        let functions = format!(
            "fn value(x: u32, y: u32, c: u32) -> f32 {{
    let i = y * p.width + x;
    let correction = read2[c * p.coarse_pixels + (y / 2u) * p.coarse_width + x / 2u];
    return {OMEGA} * read0[3u * p.pixels + i] * read1[c * p.pixels + i] + correction;
}}
{PRODUCT}"
        );
        if self.sums {
            let each = format!(
                "            for (var c = 0u; c < p.planes; c++) {{
                let r = read1[c * p.pixels + i];
                let made = value(x, y, c) + {OMEGA} * read0[3u * p.pixels + i] * (r - product(x, y, c));
                write0[c * p.pixels + i] = made;
                part += r * made;
            }}
"
            );
            return Ok(per_row(site, &functions, &each, "write1"));
        }
        let body = format!(
            "    if x >= p.width || y >= p.height {{ return; }}
    let i = y * p.width + x;
    for (var c = 0u; c < p.planes; c++) {{
        let left = read1[c * p.pixels + i] - product(x, y, c);
        write0[c * p.pixels + i] = value(x, y, c) + {OMEGA} * read0[3u * p.pixels + i] * left;
    }}
"
        );
        Ok(shader(site, size, &functions, &body))
    }

    fn scratch(&self, size: Size) -> usize {
        3 * size.width
    }
}

#[inline(always)]
fn prolong<S: Simd>(_simd: S, job: &mut Job<'_>) {
    let [grid, residual, correction] = &job.reads[..] else {
        return;
    };
    let Size { width, height } = grid.size();
    let ring = &mut job.scratch[..3 * width];
    for c in 0..residual.planes() {
        let mut next = job.rows.start.saturating_sub(1);
        for y in job.rows.clone() {
            while next < (y + 2).min(height) {
                let line = &mut ring[(next % 3) * width..][..width];
                jacobi(grid, residual, c, next, line);
                let coarse = correction.row(c, next / 2);
                for (pair, add) in line.chunks_mut(2).zip(coarse) {
                    for l in pair {
                        *l += add;
                    }
                }
                next += 1;
            }
            let step = |y: usize| &ring[(y % 3) * width..][..width];
            let above = (y > 0).then(|| step(y - 1));
            let below = (y + 1 < height).then(|| step(y + 1));
            let out = &mut job.writes[0].row(c, y)[..width];
            product(grid, y, above, step(y), below, out);
            let (here, inverse) = (step(y), &grid.row(3, y)[..width]);
            let r = &residual.row(c, y)[..width];
            for x in 0..width {
                out[x] = here[x] + OMEGA * inverse[x] * (r[x] - out[x]);
            }
            let [made, sums] = &mut job.writes[..] else {
                continue;
            };
            let sum = products(r, made.row(c, y));
            let before = if c == 0 { 0.0 } else { sums.row(0, y)[0] };
            sums.row(0, y)[0] = before + sum;
        }
    }
}
