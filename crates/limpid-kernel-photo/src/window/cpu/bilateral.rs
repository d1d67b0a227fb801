//! The bilateral filter, vectorised along the row.
//!
//! Rows are copied with margins whose value is so far away that its weight is zero: borders need no tests. Products are
//! accumulated with fused multiply-adds if available (a third fewer operations), so here, and only here, the last bit depends
//! on the SIMD level.

use super::clip;
use fearless_simd::{Simd, SimdBase, SimdFloat, f32x16};
use limpid_plan::Job;
use limpid_plan::fast_exp::COEFFICIENTS;
use limpid_plan::sweep::{LANES, store};

/// So far from any colour that its weight, `2^-125`, is negligible, and its square is finite.
const FAR: f32 = 1e18;

fn padded(radius: usize, width: usize) -> usize {
    width.next_multiple_of(LANES) + 2 * radius
}

/// The rows of the window, of up to three planes.
pub(super) fn scratch(radius: usize, width: usize) -> usize {
    3 * (2 * radius + 1) * padded(radius, width)
}

#[inline(always)]
pub(super) fn bilateral<S: Simd>(simd: S, job: &mut Job<'_>, r: usize, sigmas: [f32; 2]) {
    match job.reads[0].planes() {
        1 => planes::<S, 1>(simd, job, r, sigmas),
        3 => planes::<S, 3>(simd, job, r, sigmas),
        _ => {
            let [space, range] = sigmas;
            super::direct(job, super::Filter::Bilateral { space, range }, r);
        }
    }
}

#[inline(always)]
fn planes<S: Simd, const P: usize>(simd: S, job: &mut Job<'_>, r: usize, sigmas: [f32; 2]) {
    let src = job.reads[0].clone();
    let (width, height, rows) = (src.size().width, src.size().height, 2 * r + 1);
    let stride = padded(r, width);
    // Exponents are for base 2.
    let [near, alike] = sigmas.map(|s| -0.5 * std::f32::consts::LOG2_E / (s * s));
    let alike = f32x16::splat(simd, alike);
    let space: Vec<f32> = (0..rows * rows)
        .map(|k| {
            let (i, j) = ((k % rows).abs_diff(r), (k / rows).abs_diff(r));
            near * (i * i + j * j) as f32
        })
        .collect();
    job.scratch.fill(FAR);
    let mut next = job.rows.start.saturating_sub(r);
    for y in job.rows.clone() {
        let window = clip(y, height, r);
        while next < window.end {
            for plane in 0..P {
                let at = (next % rows * P + plane) * stride + r;
                job.scratch[at..at + width].copy_from_slice(src.row(plane, next));
            }
            next += 1;
        }
        let ring = &*job.scratch;
        let row = |plane: usize, y: usize| &ring[(y % rows * P + plane) * stride..][..stride];
        let centre: [&[f32]; P] = std::array::from_fn(|p| row(p, y));
        let out = job.writes[0].rows_n::<P>(y);
        for x in (0..width).step_by(LANES) {
            let zero = f32x16::splat(simd, 0.0);
            let mut c = [zero; P];
            for p in 0..P {
                c[p] = f32x16::from_slice(simd, &centre[p][x + r..x + r + LANES]);
            }
            // The centre pixel has weight one.
            let (mut sum, mut weights) = (c, f32x16::splat(simd, 1.0));
            for qy in window.clone() {
                let q: [&[f32]; P] = std::array::from_fn(|p| &row(p, qy)[x..x + 2 * r + LANES]);
                let space = &space[(qy + r - y) * rows..][..rows];
                for (i, s) in space.iter().enumerate() {
                    if qy == y && i == r {
                        continue;
                    }
                    let mut v = [zero; P];
                    for p in 0..P {
                        v[p] = f32x16::from_slice(simd, &q[p][i..i + LANES]);
                    }
                    let d = v[0] - c[0];
                    let mut distance = d * d;
                    for p in 1..P {
                        let d = v[p] - c[p];
                        distance = d.mul_add(d, distance);
                    }
                    let x = distance.mul_add(alike, f32x16::splat(simd, *s));
                    let w = power_of_two(simd, x);
                    for p in 0..P {
                        sum[p] = w.mul_add(v[p], sum[p]);
                    }
                    weights += w;
                }
            }
            for p in 0..P {
                let end = width.min(x + LANES);
                store(sum[p] / weights, &mut out[p][x..end]);
            }
        }
    }
}

/// `2^x` for `x <= 0`, clamped to at least `2^-125`. The arithmetic of `fast_exp`.
#[inline(always)]
fn power_of_two<S: Simd>(simd: S, x: f32x16<S>) -> f32x16<S> {
    // Adding 1.5 * 2^23 rounds to the nearest integer, which is then in the lowest bits.
    const MAGIC: f32 = 12_582_912.0;
    let x = x.max(f32x16::splat(simd, -125.0));
    let shifted = x + MAGIC;
    let f = x - (shifted - MAGIC);
    let mut p = f32x16::splat(simd, COEFFICIENTS[5]);
    for k in [4, 3, 2, 1, 0] {
        p = p.mul_add(f, f32x16::splat(simd, COEFFICIENTS[k]));
    }
    f32x16::from_bits(p.to_bits() + (shifted.to_bits() << 23))
}
