//! Weights of the rows of all patches, and their products with the bases.

use super::basis::weight;
use super::{
    BASIS_PLANES, CROSS_PLANES, LANES, Lanes, WEIGHT_PLANES, ZERO, cross_plane, get, load, offset,
    per_pixel, store, unpack, with_weights,
};
use crate::own::own;
use fearless_simd::{Simd, SimdBase, f32x16};
use limpid_core::simd::dispatch;
use limpid_core::{Result, Size};
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, View};
use limpid_reference::definition::patch::{MOST, PATCH, RADIUS};

/// `Ω_p` and `Bᵀ Ω B`. Reads bases, weights and the estimate; without reweighting only the size of the estimate matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Omega {
    /// `β`.
    pub beta: f32,
    /// Squared weights are divided by `|e| + reg`, for a fit of least absolute errors.
    pub reg: Option<f32>,
}

impl Kernel for Omega {
    fn name(&self) -> &'static str {
        "omega"
    }

    fn contract(&self) -> Contract {
        Contract::rows(3, 2, RADIUS)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.reads[0].size;
        let planes = |count: usize| Need::planes(size, count);
        vec![
            planes(BASIS_PLANES),
            planes(WEIGHT_PLANES),
            planes(pass.reads[2].planes),
            planes(PATCH),
            planes(CROSS_PLANES),
        ]
    }

    fn work(&self) -> f32 {
        5.0
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => all(simd, self, job));
    }

    fn scratch(&self, _size: Size) -> usize {
        LANES * PATCH * (MOST + 3)
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let text = with_weights(Wgsl::default(), "read1")
            .constant("CHANNELS", "u32", pass.reads[2].planes)
            .constant("CROSS_PLANES", "u32", CROSS_PLANES)
            .constant("REWEIGHTS", "bool", self.reg.is_some())
            .body(BASES)
            .body(include_str!("omega.wgsl"));
        let numbers = [self.beta, self.reg.unwrap_or(0.0)];
        Ok(own(self, pass, per_pixel(pass, numbers, text)))
    }
}

/// WGSL: `basis(a, i)`, the eight numbers of a basis, in the slot `read0`, at a pixel of a patch.
pub(super) const BASES: &str = include_str!("bases.wgsl");

/// The bases of sixteen patches, eight numbers for each pixel.
#[inline(always)]
pub(super) fn bases(slot: &View<'_>, x: usize, y: usize, out: &mut [Lanes]) {
    for plane in 0..BASIS_PLANES {
        let (low, high) = unpack(&load(slot.row(plane, y), x as isize));
        out[2 * plane] = low;
        out[2 * plane + 1] = high;
    }
}

#[inline(always)]
fn all<S: Simd>(simd: S, kernel: &Omega, job: &mut Job<'_>) {
    let Size { width, height } = job.reads[0].size();
    let (scratch, _) = job.scratch.as_chunks_mut::<LANES>();
    let (basis, scratch) = scratch.split_at_mut(PATCH * MOST);
    let (omega, scratch) = scratch.split_at_mut(PATCH);
    let (near, scratch) = scratch.split_at_mut(PATCH);
    let patch = &mut scratch[..PATCH];
    let image = &job.reads[2];
    for y in job.rows.clone() {
        for x in (0..width).step_by(LANES) {
            bases(&job.reads[0], x, y, basis);
            for a in 0..PATCH {
                near[a] = weight(&job.reads[1], a, x, y);
                for v in &mut near[a] {
                    *v *= kernel.beta;
                }
                omega[a] = ZERO;
            }
            if let Some(reg) = kernel.reg {
                for c in 0..image.planes() {
                    for a in 0..PATCH {
                        let (dx, dy) = offset(a);
                        patch[a] = match y.checked_add_signed(dy).filter(|y| *y < height) {
                            Some(y) => load(image.row(c, y), x as isize + dx),
                            None => ZERO,
                        };
                        for l in 0..LANES {
                            patch[a][l] = if near[a][l] > 0.0 { patch[a][l] } else { 0.0 };
                        }
                    }
                    add_errors(simd, (basis, near), patch, omega);
                }
                for a in 0..PATCH {
                    for l in 0..LANES {
                        omega[a][l] = near[a][l] * near[a][l] / (omega[a][l].sqrt() + reg);
                    }
                }
            } else {
                for a in 0..PATCH {
                    for l in 0..LANES {
                        omega[a][l] = near[a][l] * near[a][l];
                    }
                }
            }
            for (a, omega) in omega.iter().enumerate() {
                store(job.writes[0].row(a, y), x, omega);
            }
            for k in 0..MOST {
                for j in k..MOST {
                    let mut sum = f32x16::splat(simd, 0.0);
                    for (omega, b) in omega.iter().zip(basis.chunks_exact(MOST)) {
                        sum += get(simd, omega) * get(simd, &b[k]) * get(simd, &b[j]);
                    }
                    let row = job.writes[1].row(cross_plane(k, j), y);
                    store(row, x, &sum.to_array());
                }
            }
        }
    }
}

/// Accumulates the squared errors of one channel.
#[inline(always)]
fn add_errors<S: Simd>(
    simd: S,
    (basis, near): (&[Lanes], &[Lanes]),
    patch: &[Lanes],
    squares: &mut [Lanes],
) {
    let mut along = [f32x16::splat(simd, 0.0); MOST];
    for (b, v) in basis.chunks_exact(MOST).zip(patch) {
        let v = get(simd, v);
        for k in 0..MOST {
            along[k] += get(simd, &b[k]) * v;
        }
    }
    let rows = basis.chunks_exact(MOST).zip(patch).zip(near);
    for (((b, v), near), squares) in rows.zip(squares) {
        let mut e = f32x16::splat(simd, 0.0);
        for k in 0..MOST {
            e += get(simd, &b[k]) * along[k];
        }
        let e = get(simd, near) * (e - get(simd, v));
        (get(simd, squares) + e * e).store_array(squares);
    }
}
