//! The normal equations: the sum of what all patches and the differences say (Vicini 2015, section 5.3.4).
//!
//! A patch says `(BBᵀ - I) Ω (BBᵀ - I)`; between its pixels `a` and `b` that is `B_a C B_bᵀ - (Ω_a + Ω_b) B_a B_bᵀ`, with
//! `C = BᵀΩB`, and `Ω_a` more where they are one. A CPU adds each patch to all its pixels; a GPU collects at each pixel what
//! the patches around it say.

use super::omega::{bases, basis_function};
use super::{
    CROSS_PLANES, INVERSE, LANES, NEIGHBOURS, REACH, SIDE, cross_plane, get, load, load_vector,
    matrix_function, matrix_plane, matrix_row, offset, per_pixel,
};
use crate::definition::patch::{MOST, PATCH, RADIUS};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};
use crate::simd::dispatch;
use crate::{Result, Size};
use fearless_simd::{Simd, SimdBase, f32x16};

/// The matrix. Reads bases, omega, cross products and the grid of [`crate::kernel::poisson`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Assemble;

impl Kernel for Assemble {
    fn name(&self) -> &'static str {
        "assemble"
    }

    fn contract(&self) -> Contract {
        Contract::rows(4, 1, RADIUS)
    }

    fn work(&self) -> f32 {
        10.0
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => all(simd, job));
    }

    fn scratch(&self, _size: Size) -> usize {
        LANES * (2 * PATCH * MOST + PATCH)
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let functions = format!(
            "{}{}var<private> sums: array<f32, {}>;\n",
            basis_function(),
            matrix_function(),
            NEIGHBOURS + 1
        );
        let (r, half) = (RADIUS, MOST / 2);
        let mut turned = String::new();
        for k in 0..MOST {
            let part = |first: usize| -> String {
                let planes = (first..first + half).map(|l| format!("cross[{}]", cross_plane(k, l)));
                planes.collect::<Vec<_>>().join(", ")
            };
            turned += &format!(
                "        q[{}][{}] = dot(vec4({}), low) + dot(vec4({}), high);\n",
                k / half,
                k % half,
                part(0),
                part(half)
            );
        }
        let wide = 2 * REACH + 1;
        let next = REACH + 1;
        let body = format!(
            "    for (var k = 0u; k < {}u; k++) {{ sums[k] = 0.0; }}
    var cross: array<f32, {}>;
    for (var a = 0u; a < {PATCH}u; a++) {{
        let u = i32(x) + {r} - i32(a % {SIDE}u);
        let v = i32(y) + {r} - i32(a / {SIDE}u);
        if u < 0 || v < 0 || u >= i32(p.width) || v >= i32(p.height) {{ continue; }}
        let j = u32(v) * p.width + u32(u);
        let own = read1[a * p.pixels + j];
        let here = basis(a, j);
        let low = here[0];
        let high = here[1];
        for (var k = 0u; k < {}u; k++) {{ cross[k] = read2[k * p.pixels + j]; }}
        var q: array<vec4<f32>, 2>;
{turned}        sums[0] += own;
        for (var b = a; b < {PATCH}u; b++) {{
            let other = basis(b, j);
            let along = dot(q[0], other[0]) + dot(q[1], other[1]);
            let both = dot(low, other[0]) + dot(high, other[1]);
            let dx = i32(b % {SIDE}u) - i32(a % {SIDE}u);
            let dy = i32(b / {SIDE}u) - i32(a / {SIDE}u);
            let plane = select({next} + (dy - 1) * {wide} + dx + {REACH}, dx, dy == 0);
            sums[plane] += along - (own + read1[b * p.pixels + j]) * both;
        }}
    }}
    sums[0] += 1.0 / read3[3u * p.pixels + i];
    sums[1] -= read3[p.pixels + i];
    sums[{}] -= read3[2u * p.pixels + i];
    for (var k = 0u; k < {}u; k++) {{ write0[matrix(k, x, y)] = sums[k]; }}
    write0[matrix({INVERSE}u, x, y)] = 1.0 / sums[0];
",
            NEIGHBOURS + 1,
            CROSS_PLANES,
            CROSS_PLANES,
            matrix_plane((0, 1)),
            NEIGHBOURS + 1,
        );
        Ok(per_pixel(site, &functions, &body))
    }
}

#[inline(always)]
fn all<S: Simd>(simd: S, job: &mut Job<'_>) {
    let Size { width, height } = job.reads[0].size();
    let (scratch, _) = job.scratch.as_chunks_mut::<LANES>();
    let (basis, scratch) = scratch.split_at_mut(PATCH * MOST);
    let (turned, scratch) = scratch.split_at_mut(PATCH * MOST);
    let omega = &mut scratch[..PATCH];
    let grid = &job.reads[3];
    for y in job.rows.clone() {
        job.writes[0].row(0, y).fill(0.0);
        let bonds = [(matrix_plane((1, 0)), 1), (matrix_plane((0, 1)), 2)];
        for (plane, bond) in bonds {
            let row = &mut job.writes[0].row(0, y)[matrix_row(width, plane)];
            for (o, bond) in row.iter_mut().zip(grid.row(bond, y)) {
                *o -= bond;
            }
        }
        let middle = &mut job.writes[0].row(0, y)[matrix_row(width, 0)];
        for (o, inverse) in middle.iter_mut().zip(grid.row(3, y)) {
            *o += 1.0 / inverse;
        }
    }
    let rows = job.rows.clone();
    for y in rows.start.saturating_sub(RADIUS)..(rows.end + RADIUS).min(height) {
        for x in (0..width).step_by(LANES) {
            bases(&job.reads[0], x, y, basis);
            for (a, omega) in omega.iter_mut().enumerate() {
                *omega = load(job.reads[1].row(a, y), x as isize);
            }
            let mut cross = [f32x16::splat(simd, 0.0); CROSS_PLANES];
            for (k, cross) in cross.iter_mut().enumerate() {
                *cross = load_vector(simd, job.reads[2].row(k, y), x as isize);
            }
            for (b, turned) in basis.chunks_exact(MOST).zip(turned.chunks_exact_mut(MOST)) {
                for (k, turned) in turned.iter_mut().enumerate() {
                    let mut sum = f32x16::splat(simd, 0.0);
                    for j in 0..MOST {
                        sum += cross[cross_plane(k, j)] * get(simd, &b[j]);
                    }
                    sum.store_array(turned);
                }
            }
            for a in 0..PATCH {
                let (ax, ay) = offset(a);
                let Some(to) = y.checked_add_signed(ay).filter(|y| rows.contains(y)) else {
                    continue;
                };
                let at = x as isize + ax;
                let zero = f32x16::splat(simd, 0.0);
                let (mut here, mut along) = ([zero; MOST], [zero; MOST]);
                for k in 0..MOST {
                    here[k] = get(simd, &basis[a * MOST + k]);
                    along[k] = get(simd, &turned[a * MOST + k]);
                }
                let own = get(simd, &omega[a]);
                let others = basis.chunks_exact(MOST).zip(omega.iter()).enumerate();
                for (b, (other, omega)) in others.skip(a) {
                    let (bx, by) = offset(b);
                    let mut both = f32x16::splat(simd, 0.0);
                    let mut sum = if a == b { own } else { both };
                    for k in 0..MOST {
                        let other = get(simd, &other[k]);
                        both += here[k] * other;
                        sum += along[k] * other;
                    }
                    sum -= (own + get(simd, omega)) * both;
                    let plane = matrix_plane((bx - ax, by - ay));
                    let row = &mut job.writes[0].row(0, to)[matrix_row(width, plane)];
                    add(simd, row, at, sum);
                }
            }
        }
    }
    for y in rows {
        let (middle, others) = job.writes[0].row(0, y).split_at_mut(width);
        let at = matrix_row(width, INVERSE).start - width;
        for (o, m) in others[at..].iter_mut().zip(middle) {
            *o = 1.0 / *m;
        }
    }
}

/// Adds sixteen numbers to a row; what is outside of it is 0.
#[inline(always)]
fn add<S: Simd>(simd: S, row: &mut [f32], at: isize, sum: f32x16<S>) {
    if let Ok(at) = usize::try_from(at)
        && let Some(full) = row.get_mut(at..).and_then(|r| r.first_chunk_mut::<LANES>())
    {
        (get(simd, full) + sum).store_array(full);
        return;
    }
    for (l, v) in sum.to_array().iter().enumerate() {
        if let Some(o) = row.get_mut((at + l as isize) as usize) {
            *o += v;
        }
    }
}
