//! The normal equations: the sum of the constraints of all patches and of the differences (Vicini 2015, section 5.3.4).
//!
//! A patch contributes `(BBᵀ - I) Ω (BBᵀ - I)`; the entry of its pixels `a` and `b` is `B_a C B_bᵀ - (Ω_a + Ω_b) B_a B_bᵀ`,
//! with `C = BᵀΩB`, plus `Ω_a` if they are the same pixel. On the CPU each patch is scattered to all its pixels; on a GPU each
//! pixel gathers from the patches around it.

use super::omega::{BASES, bases};
use super::{
    BASIS_PLANES, CROSS_PLANES, INVERSE, LANES, NEIGHBOURS, REACH, cross_plane, get, load,
    load_vector, matrix_plane, matrix_row, matrix_size, offset, per_pixel, with_matrix,
};
use crate::own::own;
use fearless_simd::{Simd, SimdBase, f32x16};
use limpid_core::simd::dispatch;
use limpid_core::{Result, Size};
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::patch::{MOST, PATCH, RADIUS};

/// The matrix. Reads bases, omega, cross products and the grid of [`crate::poisson`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assemble;

impl Kernel for Assemble {
    fn name(&self) -> &'static str {
        "assemble"
    }

    fn contract(&self) -> Contract {
        Contract::rows(4, 1, RADIUS)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.reads[0].size;
        let planes = |count: usize| Need::planes(size, count);
        vec![
            planes(BASIS_PLANES),
            planes(PATCH),
            planes(CROSS_PLANES),
            planes(4),
            Need::planes(matrix_size(size), 1),
        ]
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

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let half = MOST / 2;
        let mut turned = Code::default();
        turned.say("var q: array<vec4<f32>, 2>");
        for k in 0..MOST {
            let part = |first: usize| -> String {
                let planes = (first..first + half).map(|l| format!("cross[{}]", cross_plane(k, l)));
                planes.collect::<Vec<_>>().join(", ")
            };
            let (low, high) = (part(0), part(half));
            turned.say(format_args!(
                "q[{}][{}] = dot(vec4({low}), here[0]) + dot(vec4({high}), here[1])",
                k / half,
                k % half
            ));
        }
        turned.say("return q");
        let text = with_matrix(Wgsl::default())
            .constant("NEIGHBOURS", "u32", NEIGHBOURS)
            .constant("CROSS_PLANES", "u32", CROSS_PLANES)
            .constant("REACH", "i32", REACH)
            .constant("BELOW", "u32", matrix_plane((0, 1)))
            .body(BASES)
            .statements(
                "turned(here: array<vec4<f32>, 2>) -> array<vec4<f32>, 2>",
                turned,
            )
            .body(include_str!("assemble.wgsl"));
        Ok(own(self, pass, per_pixel(pass, [0.0; 2], text)))
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

/// Adds sixteen numbers to a row; those outside it are 0.
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
