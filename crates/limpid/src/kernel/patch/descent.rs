//! The steps of conjugate gradients with the diagonal as preconditioner, on an assembled matrix.
//!
//! Sums over the image are taken row by row, as [`crate::kernel::poisson`] has them, by the pass that makes what is summed.

use super::{INVERSE, LANES, OFFSETS, get, head};
use crate::Result;
use crate::kernel::poisson::{SIDE_BY_SIDE, add_products};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};
use fearless_simd::{Simd, SimdBase, dispatch};

/// Lanes of a workgroup, which takes a row.
const GROUP: u32 = 256;
/// Most workgroups along x.
const ROWS: u32 = 32_768;

/// A shader with one workgroup per row: `each` is done for every `x`, at place `i`; it may add to the two numbers of `part`,
/// whose sums over the row `last` sees as `sum`.
fn per_row(site: &Site<'_>, functions: &str, each: &str, last: &str) -> Dispatch {
    let (params, head) = head(site, [0.0; 2]);
    let text = format!(
        "{head}{functions}var<workgroup> parts: array<vec2<f32>, {GROUP}>;
@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
    let y = group.x + group.y * {ROWS}u;
    var part = vec2(0.0);
    if y < p.height {{
        for (var x = lane; x < p.width; x += {GROUP}u) {{
            let i = y * p.width + x;
{each}        }}
    }}
    parts[lane] = part;
    for (var half = {GROUP}u / 2u; half > 0u; half /= 2u) {{
        workgroupBarrier();
        if lane < half {{ parts[lane] += parts[lane + half]; }}
    }}
    let sum = parts[0];
    if lane == 0u && y < p.height {{
{last}    }}
}}
"
    );
    let rows = site.writes[0].size.height as u32;
    let groups = [rows.min(ROWS), rows.div_ceil(ROWS), 1];
    Dispatch::compute(text, &params, groups)
}

/// `A x` and, per row, `x · A x`; or `b - A x`. Reads the matrix, `x` and perhaps `b`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Multiply {
    /// Whether the product is taken from a third slot.
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

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => multiply(simd, job));
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let channels = site.reads[1].planes;
        let mut each = format!(
            "            let h = i32(x);
            let v = i32(y);
            var s: array<f32, {channels}>;
            let m = read0[i];
            for (var c = 0u; c < {channels}u; c++) {{ s[c] = m * read1[c * p.pixels + i]; }}
"
        );
        for (k, (dx, dy)) in OFFSETS.into_iter().enumerate() {
            let plane = k + 1;
            for (dx, dy, back) in [(dx, dy, false), (-dx, -dy, true)] {
                let stored = if back { "j" } else { "i" };
                each += &format!(
                    "            if h + {dx} >= 0 && h + {dx} < i32(p.width) && v + {dy} >= 0 && v + {dy} < i32(p.height) {{
                let j = u32(i32(i) + {dy} * i32(p.width) + {dx});
                let m = read0[{plane}u * p.pixels + {stored}];
                for (var c = 0u; c < {channels}u; c++) {{ s[c] += m * read1[c * p.pixels + j]; }}
            }}
"
                );
            }
        }
        let made = if self.residual {
            "read2[at] - s[c]"
        } else {
            "s[c]"
        };
        each += &format!(
            "            for (var c = 0u; c < {channels}u; c++) {{
                let at = c * p.pixels + i;
                write0[at] = {made};
                part.x += s[c] * read1[at];
            }}
"
        );
        let last = if self.residual {
            ""
        } else {
            "        write1[y] = sum.x;\n"
        };
        Ok(per_row(site, "", &each, last))
    }
}

#[inline(always)]
fn multiply<S: Simd>(simd: S, job: &mut Job<'_>) {
    let (matrix, image) = (&job.reads[0], &job.reads[1]);
    let (width, height) = (image.size().width, image.size().height);
    for y in job.rows.clone() {
        for c in 0..image.planes() {
            let out = job.writes[0].row(c, y);
            out.fill(0.0);
            add(simd, out, matrix.row(0, y), image.row(c, y));
        }
        for (k, (dx, dy)) in OFFSETS.into_iter().enumerate() {
            let down = dy as usize;
            // Pixels with a neighbour to this side: `from` on, and the neighbours: `to` on.
            let (from, to) = ((-dx).max(0) as usize, dx.max(0) as usize);
            let len = width.saturating_sub(from + to);
            if len == 0 {
                continue;
            }
            if y + down < height {
                let m = &matrix.row(k + 1, y)[from..][..len];
                for c in 0..image.planes() {
                    let there = &image.row(c, y + down)[to..][..len];
                    let out = &mut job.writes[0].row(c, y)[from..][..len];
                    add(simd, out, m, there);
                }
            }
            if y >= down {
                let m = &matrix.row(k + 1, y - down)[from..][..len];
                for c in 0..image.planes() {
                    let there = &image.row(c, y - down)[from..][..len];
                    let out = &mut job.writes[0].row(c, y)[to..][..len];
                    add(simd, out, m, there);
                }
            }
        }
        let mut sums = [0.0f32; SIDE_BY_SIDE];
        for c in 0..image.planes() {
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

/// `out += m · there`. Sixteen at a time by hand: rows are short, and what the compiler would leave over is long.
#[inline(always)]
fn add<S: Simd>(simd: S, out: &mut [f32], m: &[f32], there: &[f32]) {
    let (out, out_rest) = out.as_chunks_mut::<LANES>();
    let (m, m_rest) = m.as_chunks::<LANES>();
    let (there, there_rest) = there.as_chunks::<LANES>();
    let n = out.len();
    let (m, there) = (&m[..n], &there[..n]);
    for i in 0..n {
        let sum = get(simd, &out[i]) + get(simd, &m[i]) * get(simd, &there[i]);
        sum.store_array(&mut out[i]);
    }
    for ((o, m), t) in out_rest.iter_mut().zip(m_rest).zip(there_rest) {
        *o += m * t;
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

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => advance(simd, job));
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let each = format!(
            "            let inverse = read3[{INVERSE}u * p.pixels + i];
            for (var c = 0u; c < p.planes; c++) {{
                let at = c * p.pixels + i;
                write0[at] += read0[0] * read1[at];
                let r = write1[at] - read0[0] * read2[at];
                write1[at] = r;
                part += vec2(r * r, r * r * inverse);
            }}
"
        );
        let last = "        write2[y] = sum.x;\n        write3[y] = sum.y;\n";
        Ok(per_row(site, "", &each, last))
    }
}

#[inline(always)]
fn advance<S: Simd>(_simd: S, job: &mut Job<'_>) {
    let alpha = job.reads[0].row(0, 0)[0];
    for y in job.rows.clone() {
        let mut squares = [0.0f32; SIDE_BY_SIDE];
        let mut scaled = [0.0f32; SIDE_BY_SIDE];
        let inverse = job.reads[3].row(INVERSE, y);
        for c in 0..job.reads[1].planes() {
            let (p, ap) = (job.reads[1].row(c, y), job.reads[2].row(c, y));
            for (x, p) in job.writes[0].row(c, y).iter_mut().zip(p) {
                *x += alpha * p;
            }
            let r = job.writes[1].row(c, y);
            for (r, ap) in r.iter_mut().zip(ap) {
                *r -= alpha * ap;
            }
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
pub struct Turn {
    /// Whether there is no direction yet; then there is no `β` to read either.
    pub first: bool,
}

impl Kernel for Turn {
    fn name(&self) -> &'static str {
        "turn"
    }

    fn contract(&self) -> Contract {
        if self.first {
            Contract::gather(2, 1, None)
        } else {
            Contract::gather(3, 1, None).updating()
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for c in 0..job.reads[1].planes() {
            for y in job.rows.clone() {
                let (inverse, r) = (job.reads[0].row(INVERSE, y), job.reads[1].row(c, y));
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

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let before = if self.first {
            ""
        } else {
            " + read2[0] * write0[at]"
        };
        let each = format!(
            "            for (var c = 0u; c < p.planes; c++) {{
                let at = c * p.pixels + i;
                write0[at] = read0[{INVERSE}u * p.pixels + i] * read1[at]{before};
            }}
"
        );
        Ok(per_row(site, "", &each, ""))
    }
}
