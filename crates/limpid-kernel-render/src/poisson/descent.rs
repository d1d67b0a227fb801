//! The steps of preconditioned conjugate gradients (Vicini 2015, `CGSOLVE`).
//!
//! Sums over the image are taken row by row, then over the rows, so that they do not depend on threads or bands. On a GPU a
//! row is a workgroup, and nothing comes back to the host.

use super::{dispatch as shader_text, product};
use crate::own::own;
use fearless_simd::Simd;
use limpid_core::Result;
use limpid_core::simd::dispatch;
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};

/// Lanes of a workgroup that sums.
const LANES: u32 = 256;

/// WGSL: `gathered` for sums of this kind.
fn gathered(text: Wgsl, kind: &str) -> Wgsl {
    text.alias("Sum", kind)
        .constant("LANES", "u32", LANES)
        .body(include_str!("gathered.wgsl"))
}

/// WGSL with one workgroup per row, and the grid of workgroups: `each(x, y)` of the text is done for every pixel and gives what it adds
/// to the row's sum, which is of this `kind`; `last(y, sum)` is done once.
pub(crate) fn per_row_text(text: Wgsl, kind: &str, height: usize) -> (Wgsl, [u32; 3]) {
    let text = gathered(text, kind)
        .constant("ROWS", "u32", ROWS)
        .body(include_str!("per_row.wgsl"));
    let rows = height as u32;
    (text, [rows.min(ROWS), rows.div_ceil(ROWS), 1])
}

/// The same as a shader of this folder; the sum goes to the slot `to`.
pub(super) fn per_row(pass: &PassSlots<'_>, text: Wgsl, to: &str) -> Dispatch {
    let size = pass.writes[0].size;
    let text = text.procedure("last(y: u32, sum: Sum)", format_args!("{to}[y] = sum"));
    let (text, groups) = per_row_text(text, "f32", size.height);
    shader_text(pass, size, text, groups)
}

/// `A x` and, per row, `x · A x`. Reads the grid and `x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Apply;

impl Kernel for Apply {
    fn name(&self) -> &'static str {
        "apply"
    }

    fn contract(&self) -> Contract {
        Contract::gather(2, 2, None)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes);
        let image = Need::planes(size, planes);

        vec![
            Need::planes(size, 4),
            image,
            image,
            Need::values(size.height),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => apply(simd, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let text = Wgsl::default()
            .body(include_str!("product.wgsl"))
            .body(include_str!("apply.wgsl"));
        Ok(own(self, pass, per_row(pass, text, "write1")))
    }
}

#[inline(always)]
fn apply<S: Simd>(_simd: S, job: &mut Job<'_>) {
    let (grid, image) = (&job.reads[0], &job.reads[1]);
    let height = grid.size().height;
    for y in job.rows.clone() {
        let mut sum = 0.0;
        for c in 0..image.planes() {
            let above = (y > 0).then(|| image.row(c, y - 1));
            let below = (y + 1 < height).then(|| image.row(c, y + 1));
            let out = job.writes[0].row(c, y);
            product(grid, y, above, image.row(c, y), below, out);
            sum += products(out, image.row(c, y));
        }
        job.writes[1].row(0, y)[0] = sum;
    }
}

/// For each row, the sum of `a · b` over its pixels and channels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dot;

impl Kernel for Dot {
    fn name(&self) -> &'static str {
        "dot"
    }

    fn contract(&self) -> Contract {
        Contract::gather(2, 1, None)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let slot = pass.reads[0];
        let image = Need::planes(slot.size, slot.planes);
        vec![image, image, Need::values(slot.size.height)]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => dot(simd, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let size = pass.reads[0].size;
        let planes = pass.reads[0].planes;
        let text = Wgsl::default()
            .constant("PLANES", "u32", planes)
            .body(include_str!("dot.wgsl"));
        let (text, groups) = per_row_text(text, "f32", size.height);
        Ok(own(self, pass, shader_text(pass, size, text, groups)))
    }
}

/// Maximum number of workgroups along x.
const ROWS: u32 = 32_768;

/// Sums that are taken side by side, so that they fit vectors.
pub(crate) const SIDE_BY_SIDE: usize = 16;

#[inline(always)]
fn dot<S: Simd>(_simd: S, job: &mut Job<'_>) {
    let (a, b) = (&job.reads[0], &job.reads[1]);
    for y in job.rows.clone() {
        let mut sum = 0.0;
        for c in 0..a.planes() {
            sum += products(a.row(c, y), b.row(c, y));
        }
        job.writes[0].row(0, y)[0] = sum;
    }
}

/// The sum of the products of two rows.
#[inline(always)]
pub(super) fn products(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; SIDE_BY_SIDE];
    add_products(&mut sums, a, b);
    sums.iter().sum()
}

/// Adds the products of two rows to sums that are taken side by side.
#[inline(always)]
pub(crate) fn add_products(sums: &mut [f32; SIDE_BY_SIDE], a: &[f32], b: &[f32]) {
    let (a, a_rest) = a.as_chunks::<SIDE_BY_SIDE>();
    let (b, b_rest) = b.as_chunks::<SIDE_BY_SIDE>();
    for (a, b) in a.iter().zip(b) {
        for i in 0..SIDE_BY_SIDE {
            sums[i] += a[i] * b[i];
        }
    }
    for (i, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[i] += a * b;
    }
}

/// A scalar computed from the sums of the rows. It is 0 instead of a division by zero: the solution has been reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// Writes 0 and the sum: `β` and `r·z` before the first step.
    Start,
    /// `r·z` over the sum: `α`. Also reads `r·z`.
    Alpha,
    /// The sum over the previous `r·z`: `β`; the sum replaces it.
    Beta,
    /// The sum.
    Norm,
    /// The sum over another value, which is also read.
    Share,
}

impl Scalar {
    fn made(self, sum: f32, other: f32) -> f32 {
        let (over, under) = match self {
            Self::Start => (0.0, 1.0),
            Self::Alpha => (other, sum),
            Self::Beta | Self::Share => (sum, other),
            Self::Norm => (sum, 1.0),
        };
        if under > 0.0 { over / under } else { 0.0 }
    }
}

impl Kernel for Scalar {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn contract(&self) -> Contract {
        match self {
            Self::Start => Contract::gather(1, 2, None),
            Self::Beta => Contract::gather(1, 2, None).updating(),
            Self::Alpha | Self::Share => Contract::gather(2, 1, None),
            Self::Norm => Contract::gather(1, 1, None),
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let mut needs = vec![Need::values(pass.reads[0].size.height)];
        needs.resize(pass.reads.len() + pass.writes.len(), Need::values(1));
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let rows = 0..job.reads[0].size().height;
        let sum = rows
            .map(|y| f64::from(job.reads[0].row(0, y)[0]))
            .sum::<f64>() as f32;
        let other = match self {
            Self::Alpha | Self::Share => job.reads[1].row(0, 0)[0],
            Self::Beta => job.writes[1].row(0, 0)[0],
            Self::Start | Self::Norm => 0.0,
        };
        job.writes[0].row(0, 0)[0] = self.made(sum, other);
        if let Some(last) = job.writes.get_mut(1) {
            last.row(0, 0)[0] = sum;
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let (over, under) = match self {
            Self::Start => ("0.0", "1.0"),
            Self::Alpha => ("read1[0]", "sum"),
            Self::Beta => ("sum", "write1[0]"),
            Self::Norm => ("sum", "1.0"),
            Self::Share => ("sum", "read1[0]"),
        };
        let mut keep = Code::default();
        if matches!(self, Self::Start | Self::Beta) {
            keep.say("write1[0] = sum");
        }
        let text = gathered(Wgsl::default(), "f32")
            .function("over(sum: f32) -> f32", over)
            .function("under(sum: f32) -> f32", under)
            .statements("keep(sum: f32)", keep)
            .body(include_str!("scalar.wgsl"));
        Ok(own(
            self,
            pass,
            shader_text(pass, pass.reads[0].size, text, [1, 1, 1]),
        ))
    }
}

/// `x += α p` and `r -= α A p` in place, and per row `r · r`. Reads `α`, `p` and `A p`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Advance;

impl Kernel for Advance {
    fn name(&self) -> &'static str {
        "advance"
    }

    fn contract(&self) -> Contract {
        Contract::gather(3, 3, None).updating()
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes);
        let image = Need::planes(size, planes);

        let sums = Need::values(size.height);
        vec![Need::values(1), image, image, image, image, sums]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => step(simd, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let text = Wgsl::default()
            .body(ADVANCED)
            .body(include_str!("advance.wgsl"));
        Ok(own(self, pass, per_row(pass, text, "write2")))
    }
}

/// `x += α p` and `r -= α A p` in a row, of a job whose first slots are those of [`Advance`]. Returns the row of `r`.
#[inline(always)]
pub(crate) fn advance_row<'j>(job: &'j mut Job<'_>, alpha: f32, c: usize, y: usize) -> &'j [f32] {
    for (k, share) in [alpha, -alpha].into_iter().enumerate() {
        let out = job.writes[k].row(c, y);
        for (o, d) in out.iter_mut().zip(job.reads[1 + k].row(c, y)) {
            *o += share * d;
        }
    }
    job.writes[1].row(c, y)
}

/// WGSL: the same for a value.
pub(crate) const ADVANCED: &str = include_str!("advanced.wgsl");

#[inline(always)]
fn step<S: Simd>(_simd: S, job: &mut Job<'_>) {
    let alpha = job.reads[0].row(0, 0)[0];
    for y in job.rows.clone() {
        let mut sum = 0.0;
        for c in 0..job.reads[1].planes() {
            let r = advance_row(job, alpha, c, y);
            sum += products(r, r);
        }
        job.writes[2].row(0, y)[0] = sum;
    }
}
