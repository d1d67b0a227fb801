//! The multigrid preconditioner: one V-cycle with a zero initial guess, and a damped Jacobi step on each level before and
//! after.
//!
//! The step before needs no separate pass: from zero it is `ω D⁻¹ r`, recomputed wherever it is read. So a level has two
//! passes, [`Down`] and [`Up`].

use super::descent::{per_row, products};
use super::{OMEGA, SHARE, constants, product, shader};
use crate::own::own;
use fearless_simd::Simd;
use limpid_core::simd::dispatch;
use limpid_core::{Result, Size};
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, View};

/// The size of the next coarser level.
pub fn coarse(size: Size) -> Size {
    Size::new(size.width.div_ceil(2), size.height.div_ceil(2))
}

/// The grid of the next coarser level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coarsen;

impl Kernel for Coarsen {
    fn name(&self) -> &'static str {
        "coarsen"
    }

    fn contract(&self) -> Contract {
        Contract::gather(1, 1, None)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.reads[0].size;
        vec![Need::planes(size, 4), Need::planes(coarse(size), 4)]
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
        // Bonds from the square at x, y to the right and downwards.
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

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let text = constants().body(include_str!("coarsen.wgsl"));
        Ok(own(self, pass, shader(pass, pass.reads[0].size, text)))
    }
}

/// The residual after the first Jacobi step, summed over 2×2 pixels. Reads grid and residual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Down;

impl Kernel for Down {
    fn name(&self) -> &'static str {
        "down"
    }

    fn contract(&self) -> Contract {
        Contract::gather(2, 1, None)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.reads[0].size, pass.writes[0].planes);
        vec![
            Need::planes(size, 4),
            Need::planes(size, planes),
            Need::planes(coarse(size), planes),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => restrict(simd, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let text = constants()
            .body(include_str!("product.wgsl"))
            .body(include_str!("down.wgsl"));
        Ok(own(self, pass, shader(pass, pass.reads[0].size, text)))
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
            // Steps of the rows from `first - 1` to `first + 2`, if they exist.
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

/// Adds the correction of the coarser level to the first Jacobi step, and applies another. Reads grid, residual and the coarser
/// level's correction; the coarsest level, of one pixel, has none and is solved exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Up {
    /// Whether this is the coarsest level.
    pub coarsest: bool,
    /// Whether the products of residual and correction are summed per row into a second slot: needed at the finest level.
    pub sums: bool,
}

impl Up {
    fn shader(&self, pass: &PassSlots<'_>) -> Dispatch {
        let size = pass.writes[0].size;
        if self.coarsest {
            let mut last = Code::default();
            if self.sums {
                last.say("write1[0] = sum");
            }
            let text = Wgsl::default()
                .statements("last(sum: f32)", last)
                .body(include_str!("up_coarsest.wgsl"));
            return shader(pass, size, text);
        }
        let text = constants()
            .body(include_str!("product.wgsl"))
            .body(include_str!("up.wgsl"));
        match self.sums {
            true => per_row(pass, text.body(include_str!("up_sums.wgsl")), "write1"),
            false => shader(pass, size, text.body(include_str!("up_plain.wgsl"))),
        }
    }
}

impl Kernel for Up {
    fn name(&self) -> &'static str {
        "up"
    }

    fn contract(&self) -> Contract {
        let writes = 1 + usize::from(self.sums);
        Contract::gather(if self.coarsest { 2 } else { 3 }, writes, None)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes);
        let image = Need::planes(size, planes);

        if self.coarsest {
            let values = Need::values(planes);
            let mut needs = vec![Need::values(4), values, values];
            needs.extend(self.sums.then_some(Need::values(1)));
            return needs;
        }
        let correction = Need::planes(coarse(size), planes);
        let mut needs = vec![Need::planes(size, 4), image, correction, image];
        needs.extend(self.sums.then_some(Need::values(size.height)));
        needs
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

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, self.shader(pass)))
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
