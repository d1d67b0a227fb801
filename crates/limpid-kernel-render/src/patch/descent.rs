//! The steps of conjugate gradients with the diagonal as preconditioner, on an assembled matrix.
//!
//! Sums over the image are taken row by row, as [`crate::poisson`] has them, by the pass that makes what is summed.

use super::{
    INVERSE, LANES, Lanes, OFFSETS, REACH, ZERO, head, load_vector, matrix_row, matrix_size, store,
    with_matrix,
};
use crate::own::own;
use crate::poisson::{ADVANCED, SIDE_BY_SIDE, add_products, advance_row, per_row_text};
use fearless_simd::{Simd, SimdBase, f32x16};
use limpid_core::Result;
use limpid_core::simd::dispatch;
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use std::array;

/// A shader with one workgroup per row, see [`per_row_text`]: sums are of two numbers, of which each slot gets one.
fn per_row(pass: &PassSlots<'_>, text: Wgsl, sums: &[(&str, &str)]) -> Dispatch {
    let size = pass.writes[0].size;
    let (params, head) = head(pass, size, [0.0; 2]);
    let mut last = Code::default();
    for (slot, lane) in sums {
        last.say(format_args!("{slot}[y] = sum.{lane}"));
    }
    let text = with_matrix(head.body(&text.text())).statements("last(y: u32, sum: Sum)", last);
    let (text, groups) = per_row_text(text, "vec2<f32>", size.height);
    Dispatch::compute(text.text(), &params, groups)
}

/// `A x` and, per row, `x · A x`; or `b - A x`. Reads the matrix, `x` and perhaps `b`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Multiply {
    /// Whether the product is subtracted from a third slot.
    pub residual: bool,
}

impl Kernel for Multiply {
    fn name(&self) -> &'static str {
        "multiply"
    }

    fn contract(&self) -> Contract {
        if self.residual {
            Contract::gather(3, 1, None)
        } else {
            Contract::gather(2, 2, None)
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes);
        let image = Need::planes(size, planes);

        let matrix = Need::planes(matrix_size(size), 1);
        match self.residual {
            true => vec![matrix, image, image, image],
            false => vec![matrix, image, image, Need::values(size.height)],
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => multiply(simd, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let mut products = Code::default();
        products.say("add(s, 0u, vec2(x, y), vec2(x, y))");
        for (k, (dx, dy)) in OFFSETS.into_iter().enumerate() {
            let plane = k + 1;
            for (dx, dy, stored) in [(dx, dy, "vec2(x, y)"), (-dx, -dy, "q")] {
                products.block("", |code| {
                    code.say(format_args!(
                        "let q = vec2<u32>(vec2(i32(x) + {dx}, i32(y) + {dy}))"
                    ))
                    .block("if q.x < p.width && q.y < p.height", |code| {
                        code.say(format_args!("add(s, {plane}u, {stored}, q)"));
                    });
                });
            }
        }
        let made = match self.residual {
            true => "read2[at] - s",
            false => "s",
        };
        let text = Wgsl::default()
            .constant("CHANNELS", "u32", pass.reads[1].planes)
            .function("made(s: f32, at: u32) -> f32", made)
            .statements(
                "products(s: ptr<function, array<f32, CHANNELS>>, x: u32, y: u32)",
                products,
            )
            .body(include_str!("multiply.wgsl"));
        let sums: &[(&str, &str)] = match self.residual {
            true => &[],
            false => &[("write1", "x")],
        };
        Ok(own(self, pass, per_row(pass, text, sums)))
    }
}

#[inline(always)]
fn multiply<S: Simd>(simd: S, job: &mut Job<'_>) {
    match job.reads[1].planes() {
        1 => multiply_planes::<S, 1>(simd, job),
        _ => multiply_planes::<S, 3>(simd, job),
    }
}

/// Pixels computed together.
const WIDE: usize = 2 * LANES;

/// Inputs of a row of a product: rows of the matrix for neighbours ahead and behind, and rows of the image from `REACH` above
/// to `REACH` below. Rows beyond the image are empty.
struct Rows<'a, const PLANES: usize> {
    middle: &'a [f32],
    ahead: [&'a [f32]; OFFSETS.len()],
    behind: [&'a [f32]; OFFSETS.len()],
    image: [[&'a [f32]; PLANES]; 2 * REACH as usize + 1],
}

#[inline(always)]
fn multiply_planes<S: Simd, const PLANES: usize>(simd: S, job: &mut Job<'_>) {
    let (matrix, image) = (&job.reads[0], &job.reads[1]);
    let size = image.size();
    for y in job.rows.clone() {
        let row = |k: usize, y: usize| &matrix.row(0, y)[matrix_row(size.width, k)];
        let above = |dy: isize| y.checked_sub(dy as usize);
        let near = |dy: usize| (y + dy).checked_sub(REACH as usize);
        let rows = Rows {
            middle: row(0, y),
            ahead: array::from_fn(|k| row(k + 1, y)),
            behind: array::from_fn(|k| above(OFFSETS[k].1).map_or(&[][..], |y| row(k + 1, y))),
            image: array::from_fn(|dy| match near(dy).filter(|y| *y < size.height) {
                Some(y) => array::from_fn(|c| image.row(c, y)),
                None => [&[][..]; PLANES],
            }),
        };
        let mut out = job.writes[0].rows_n::<PLANES>(y);
        rows.multiply(simd, &mut out);
        let mut sums = [0.0f32; SIDE_BY_SIDE];
        for c in 0..PLANES {
            let out = job.writes[0].row(c, y);
            match job.reads.get(2) {
                Some(b) => {
                    for (o, b) in out.iter_mut().zip(b.row(c, y)) {
                        *o = b - *o;
                    }
                }
                None => add_products(&mut sums, out, image.row(c, y)),
            }
        }
        if let Some(to) = job.writes.get_mut(1) {
            to.row(0, y)[0] = sums.iter().sum::<f32>();
        }
    }
}

impl<const PLANES: usize> Rows<'_, PLANES> {
    /// The product of the row: vectorised where all neighbours are inside, scalar at both ends.
    #[inline(always)]
    fn multiply<S: Simd>(&self, simd: S, out: &mut [&mut [f32]; PLANES]) {
        let (width, reach) = (self.middle.len(), REACH as usize);
        let inside = self.image.iter().all(|row| !row[0].is_empty());
        if !inside || width < WIDE + 2 * reach {
            for x in (0..width).step_by(WIDE) {
                self.put(self.product::<S, false>(simd, x as isize), out, x);
            }
            return;
        }
        let last = width - reach - WIDE;
        for x in (reach..last + WIDE).step_by(WIDE) {
            let x = x.min(last);
            self.put(self.product::<S, true>(simd, x as isize), out, x);
        }
        for x in (0..reach).chain(width - reach..width) {
            for (c, out) in out.iter_mut().enumerate() {
                out[x] = self.pixel(c, x as isize);
            }
        }
    }

    /// Writes a vector, clipped to the row.
    #[inline(always)]
    fn put(&self, made: [[Lanes; 2]; PLANES], out: &mut [&mut [f32]; PLANES], x: usize) {
        for (out, made) in out.iter_mut().zip(made) {
            store(out, x, &made[0]);
            if x + LANES < out.len() {
                store(out, x + LANES, &made[1]);
            }
        }
    }

    /// The product at one pixel of a plane, in the same order of summation as [`Self::product`].
    fn pixel(&self, plane: usize, x: isize) -> f32 {
        let at = |row: &[f32], x: isize| row.get(x as usize).copied().unwrap_or(0.0);
        let image = |x: isize, dy: isize| at(self.image[(REACH + dy) as usize][plane], x);
        let mut sum = at(self.middle, x) * image(x, 0);
        for (k, (dx, dy)) in OFFSETS.into_iter().enumerate() {
            sum += at(self.ahead[k], x) * image(x + dx, dy);
            sum += at(self.behind[k], x - dx) * image(x - dx, -dy);
        }
        sum
    }

    /// The product starting at `x`, two vectors of each plane. With `INSIDE`, where all neighbours are inside, sums stay in
    /// registers.
    #[inline(always)]
    fn product<S: Simd, const INSIDE: bool>(&self, simd: S, x: isize) -> [[Lanes; 2]; PLANES] {
        let mut sums = [[f32x16::splat(simd, 0.0); 2]; PLANES];
        self.add::<S, INSIDE>(simd, &mut sums, (self.middle, x), (x, 0));
        for (k, (dx, dy)) in OFFSETS.into_iter().enumerate() {
            self.add::<S, INSIDE>(simd, &mut sums, (self.ahead[k], x), (x + dx, dy));
            self.add::<S, INSIDE>(simd, &mut sums, (self.behind[k], x - dx), (x - dx, -dy));
        }
        let mut out = [[ZERO; 2]; PLANES];
        for c in 0..PLANES {
            for i in 0..2 {
                sums[c][i].store_array(&mut out[c][i]);
            }
        }
        out
    }

    /// Adds rows of the matrix times the image row `dy` further down, each with its own offset.
    #[inline(always)]
    fn add<S: Simd, const INSIDE: bool>(
        &self,
        simd: S,
        sums: &mut [[f32x16<S>; 2]; PLANES],
        (row, at): (&[f32], isize),
        (x, dy): (isize, isize),
    ) {
        let image = &self.image[(REACH + dy) as usize];
        for i in 0..2 {
            let ahead = (i * LANES) as isize;
            let m = take::<S, INSIDE>(simd, row, at + ahead);
            for c in 0..PLANES {
                sums[c][i] += m * take::<S, INSIDE>(simd, image[c], x + ahead);
            }
        }
    }
}

/// [`load_vector`], without border handling if `INSIDE`.
#[inline(always)]
fn take<S: Simd, const INSIDE: bool>(simd: S, row: &[f32], x: isize) -> f32x16<S> {
    if INSIDE {
        f32x16::from_slice(simd, &row[x as usize..][..LANES])
    } else {
        load_vector(simd, row, x)
    }
}

/// `x += α p` and `r -= α A p` in place, and per row `r · r` and `r · D⁻¹ r`. Reads `α`, `p`, `A p` and the matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Advance;

impl Kernel for Advance {
    fn name(&self) -> &'static str {
        "advance"
    }

    fn contract(&self) -> Contract {
        Contract::gather(4, 4, None).updating()
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes);
        let image = Need::planes(size, planes);

        let (matrix, sums) = (
            Need::planes(matrix_size(size), 1),
            Need::values(size.height),
        );
        vec![
            Need::values(1),
            image,
            image,
            matrix,
            image,
            image,
            sums,
            sums,
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => advance(simd, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let text = Wgsl::default()
            .body(ADVANCED)
            .body(include_str!("advance.wgsl"));
        Ok(own(
            self,
            pass,
            per_row(pass, text, &[("write2", "x"), ("write3", "y")]),
        ))
    }
}

#[inline(always)]
fn advance<S: Simd>(_simd: S, job: &mut Job<'_>) {
    let alpha = job.reads[0].row(0, 0)[0];
    let width = job.reads[1].size().width;
    for y in job.rows.clone() {
        let mut squares = [0.0f32; SIDE_BY_SIDE];
        let mut scaled = [0.0f32; SIDE_BY_SIDE];
        let inverse = &job.reads[3].row(0, y)[matrix_row(width, INVERSE)];
        for c in 0..job.reads[1].planes() {
            let r = advance_row(job, alpha, c, y);
            add_products(&mut squares, r, r);
            let (r, r_rest) = r.as_chunks::<SIDE_BY_SIDE>();
            let (inverse, inverse_rest) = inverse.as_chunks::<SIDE_BY_SIDE>();
            for (r, inverse) in r.iter().zip(inverse) {
                for i in 0..SIDE_BY_SIDE {
                    scaled[i] += r[i] * r[i] * inverse[i];
                }
            }
            for (i, (r, inverse)) in r_rest.iter().zip(inverse_rest).enumerate() {
                scaled[i] += r * r * inverse;
            }
        }
        job.writes[2].row(0, y)[0] = squares.iter().sum();
        job.writes[3].row(0, y)[0] = scaled.iter().sum();
    }
}

/// `p = D⁻¹ r + β p` in place; without `β p` at first. Reads the matrix, `r` and `β`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextDirection {
    /// Whether there is no direction yet; then there is no `β` to read either.
    pub first: bool,
}

impl Kernel for NextDirection {
    fn name(&self) -> &'static str {
        "next-direction"
    }

    fn contract(&self) -> Contract {
        if self.first {
            Contract::gather(2, 1, None)
        } else {
            Contract::gather(3, 1, None).updating()
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes);
        let image = Need::planes(size, planes);

        let mut needs = vec![Need::planes(matrix_size(size), 1), image];
        needs.extend((!self.first).then_some(Need::values(1)));
        needs.push(image);
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let at = matrix_row(job.reads[1].size().width, INVERSE);
        for c in 0..job.reads[1].planes() {
            for y in job.rows.clone() {
                let inverse = &job.reads[0].row(0, y)[at.clone()];
                let r = job.reads[1].row(c, y);
                let out = job.writes[0].row(c, y);
                let made = out.iter_mut().zip(inverse).zip(r);
                match job.reads.get(2) {
                    None => made.for_each(|((o, i), r)| *o = i * r),
                    Some(beta) => {
                        let beta = beta.row(0, 0)[0];
                        made.for_each(|((o, i), r)| *o = i * r + beta * *o);
                    }
                }
            }
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let before = match self.first {
            true => "0.0",
            false => "read2[0] * write0[at]",
        };
        let text = Wgsl::default()
            .function("before(at: u32) -> f32", before)
            .body(include_str!("direction.wgsl"));
        Ok(own(self, pass, per_row(pass, text, &[])))
    }
}
