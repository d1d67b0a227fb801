//! The subspace of each patch: the constant and its features, reduced by a truncated singular value decomposition (Vicini 2015,
//! Eq. 5.7).

use super::jacobi;
use super::{
    BASIS_PLANES, LANES, Lanes, WEIGHT_PLANES, ZERO, follows, get, load, offset, pack, per_pixel,
    weight_plane, with_weights,
};
use crate::own::own;
use fearless_simd::{Simd, SimdBase, f32x16};
use limpid_core::simd::dispatch;
use limpid_core::{Result, Size};
use limpid_plan::wgsl::{Wgsl, float};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, View};
use limpid_reference::definition::patch::{CUT, LEAST_DEVIATION, MOST, PATCH, RADIUS, ROUNDING};

/// `B_p` of every pixel. Reads the weights and, if present, the features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Basis {
    /// Planes of features.
    pub features: usize,
    /// Whether features are used as they are, without the constant patch.
    pub thesis: bool,
}

impl Basis {
    /// The place of the first vector: that of the constant patch comes before it.
    fn first(self) -> usize {
        usize::from(!self.thesis)
    }

    /// Maximum number of vectors besides the constant: the smallest is dropped, unless it is the only one.
    fn kept(self) -> usize {
        self.features
            .saturating_sub(1)
            .clamp(1, MOST - self.first())
    }

    /// The square of the share of the largest below which vectors are dropped.
    fn cut(self) -> f32 {
        let cut = if self.thesis { ROUNDING } else { CUT };
        (cut * cut) as f32
    }
}

impl Kernel for Basis {
    fn name(&self) -> &'static str {
        "basis"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1 + usize::from(self.features > 0), 1, RADIUS)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let planes = |count: usize| Need::planes(pass.reads[0].size, count);
        let mut needs = vec![planes(WEIGHT_PLANES)];
        needs.extend((self.features > 0).then_some(planes(self.features)));
        needs.push(planes(BASIS_PLANES));
        needs
    }

    fn work(&self) -> f32 {
        20.0
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => all(simd, *self, job));
    }

    fn scratch(&self, _size: Size) -> usize {
        let m = self.features;
        LANES * (PATCH * (m + 1) + 2 * m * m + MOST * m)
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let text = with_weights(Wgsl::default(), "read0").body(include_str!("member.wgsl"));
        let text = match self.features {
            0 => text.body(include_str!("basis_constant.wgsl")),
            m => jacobi::with_diagonalise(text)
                .constant("M", "u32", m)
                .constant("KEPT", "u32", self.kept())
                .constant("THESIS", "bool", self.thesis)
                .constant("FIRST", "u32", self.first())
                .constant("CUT_SQUARE", "f32", float(self.cut()))
                .constant(
                    "LEAST_SQUARE",
                    "f32",
                    float((LEAST_DEVIATION * LEAST_DEVIATION) as f32),
                )
                .body(include_str!("basis.wgsl")),
        };
        Ok(own(self, pass, per_pixel(pass, [0.0; 2], text)))
    }
}

/// Weights of sixteen pixels to the pixel `a` of their patches.
#[inline(always)]
pub(super) fn weight(weights: &View<'_>, a: usize, x: usize, y: usize) -> Lanes {
    let (dx, dy) = offset(a);
    let Size { width, height } = weights.size();
    if (dx, dy) == (0, 0) {
        let mut one = ZERO;
        for v in one.iter_mut().take(width - x) {
            *v = 1.0;
        }
        return one;
    }
    if follows((dx, dy)) {
        return load(weights.row(weight_plane((dx, dy)), y), x as isize);
    }
    match y.checked_add_signed(dy).filter(|y| *y < height) {
        Some(y) => load(weights.row(weight_plane((-dx, -dy)), y), x as isize + dx),
        None => ZERO,
    }
}

#[inline(always)]
fn all<S: Simd>(simd: S, kernel: Basis, job: &mut Job<'_>) {
    let m = kernel.features;
    let Size { width, height } = job.reads[0].size();
    let (scratch, _) = job.scratch.as_chunks_mut::<LANES>();
    let (member, scratch) = scratch.split_at_mut(PATCH);
    let (columns, scratch) = scratch.split_at_mut(PATCH * m);
    let (gram, scratch) = scratch.split_at_mut(m * m);
    let (vectors, scratch) = scratch.split_at_mut(m * m);
    let turned = &mut scratch[..MOST * m];
    for y in job.rows.clone() {
        for x in (0..width).step_by(LANES) {
            let mut count = ZERO;
            for (a, member) in member.iter_mut().enumerate() {
                let w = weight(&job.reads[0], a, x, y);
                for l in 0..LANES {
                    member[l] = if w[l] > 0.0 { 1.0 } else { 0.0 };
                    count[l] += member[l];
                }
            }
            let mut even = ZERO;
            for l in 0..LANES {
                even[l] = if count[l] > 0.0 {
                    1.0 / count[l].sqrt()
                } else {
                    0.0
                };
            }
            for j in 0..m {
                let rows = |dy: isize| {
                    let y = y.checked_add_signed(dy).filter(|y| *y < height)?;
                    Some(job.reads[1].row(j, y))
                };
                let out = &mut columns[j * PATCH..][..PATCH];
                match kernel.thesis {
                    true => plain_column(&rows, x, member, out),
                    false => column(&rows, x, member, &count, out),
                }
            }
            for j in 0..m {
                for k in j..m {
                    let mut sum = f32x16::splat(simd, 0.0);
                    let pairs = columns[j * PATCH..][..PATCH].iter();
                    for (u, v) in pairs.zip(&columns[k * PATCH..][..PATCH]) {
                        sum += get(simd, u) * get(simd, v);
                    }
                    sum.store_array(&mut gram[j * m + k]);
                    sum.store_array(&mut gram[k * m + j]);
                }
            }
            jacobi::diagonalise(simd, gram, vectors, m);
            truncate(simd, (gram, vectors), turned, (m, kernel));
            if kernel.thesis {
                // Without any feature there is the constant patch.
                for l in 0..LANES {
                    let none = (0..m).all(|k| gram[k * m + k][l] <= 0.0);
                    even[l] = if none { even[l] } else { 0.0 };
                }
            }
            for a in 0..PATCH {
                let mut b = [ZERO; MOST];
                for l in 0..LANES {
                    b[0][l] = even[l] * member[a][l];
                }
                for (k, b) in b.iter_mut().enumerate().skip(kernel.first()) {
                    let mut sum = get(simd, b);
                    for j in 0..m {
                        sum += get(simd, &columns[j * PATCH + a]) * get(simd, &turned[k * m + j]);
                    }
                    sum.store_array(b);
                }
                for k in 0..MOST / 2 {
                    let row = job.writes[0].row(a * MOST / 2 + k, y);
                    let room = (width - x).min(LANES);
                    for (l, o) in row[x..x + room].iter_mut().enumerate() {
                        *o = pack(b[2 * k][l], b[2 * k + 1][l]);
                    }
                }
            }
        }
    }
    debug_assert_eq!(job.writes[0].planes(), BASIS_PLANES);
}

/// A feature in sixteen patches, as it is.
#[inline(always)]
fn plain_column<'a>(
    rows: &dyn Fn(isize) -> Option<&'a [f32]>,
    x: usize,
    member: &[Lanes],
    out: &mut [Lanes],
) {
    for (a, out) in out.iter_mut().enumerate() {
        let (dx, dy) = offset(a);
        let values = rows(dy).map_or(ZERO, |row| load(row, x as isize + dx));
        for l in 0..LANES {
            out[l] = if member[a][l] > 0.0 { values[l] } else { 0.0 };
        }
    }
}

/// A feature in sixteen patches, with its mean subtracted, scaled to unit length.
#[inline(always)]
fn column<'a>(
    rows: &dyn Fn(isize) -> Option<&'a [f32]>,
    x: usize,
    member: &[Lanes],
    count: &Lanes,
    out: &mut [Lanes],
) {
    let here = rows(0).map_or(ZERO, |row| load(row, x as isize));
    let mut mean = ZERO;
    for (a, out) in out.iter_mut().enumerate() {
        let (dx, dy) = offset(a);
        let values = rows(dy).map_or(ZERO, |row| load(row, x as isize + dx));
        for l in 0..LANES {
            let v = values[l] - here[l];
            out[l] = if member[a][l] > 0.0 { v } else { 0.0 };
            mean[l] += out[l];
        }
    }
    for l in 0..LANES {
        mean[l] /= count[l].max(1.0);
    }
    let mut scale = ZERO;
    for (out, member) in out.iter_mut().zip(member) {
        for l in 0..LANES {
            out[l] = (out[l] - mean[l]) * member[l];
            scale[l] += out[l] * out[l];
        }
    }
    let least = (LEAST_DEVIATION * LEAST_DEVIATION) as f32;
    for l in 0..LANES {
        let long = scale[l] > least * count[l];
        scale[l] = if long { 1.0 / scale[l].sqrt() } else { 0.0 };
    }
    for out in out {
        for l in 0..LANES {
            out[l] *= scale[l];
        }
    }
}

/// The eigenvectors with the largest eigenvalues, each divided by the square root, by rank starting at the first row for them.
#[inline(always)]
fn truncate<S: Simd>(
    simd: S,
    (gram, vectors): (&[Lanes], &[Lanes]),
    turned: &mut [Lanes],
    (m, kernel): (usize, Basis),
) {
    let (first, kept, cut) = (kernel.first(), kernel.kept(), kernel.cut());
    turned.fill(ZERO);
    let mut largest = ZERO;
    for k in 0..m {
        for l in 0..LANES {
            largest[l] = largest[l].max(gram[k * m + k][l]);
        }
    }
    for k in 0..m {
        let value = &gram[k * m + k];
        let mut rank = [0u32; LANES];
        for j in 0..m {
            let other = &gram[j * m + j];
            for l in 0..LANES {
                rank[l] += u32::from(other[l] > value[l] || (other[l] == value[l] && j < k));
            }
        }
        let mut inverse = ZERO;
        for l in 0..LANES {
            let high = value[l] > cut * largest[l];
            inverse[l] = if high { 1.0 / value[l].sqrt() } else { 0.0 };
        }
        for r in 0..kept {
            let mut share = ZERO;
            for l in 0..LANES {
                share[l] = if rank[l] == r as u32 { inverse[l] } else { 0.0 };
            }
            let share = get(simd, &share);
            for j in 0..m {
                let before = get(simd, &turned[(r + first) * m + j]);
                let sum = before + share * get(simd, &vectors[j * m + k]);
                sum.store_array(&mut turned[(r + first) * m + j]);
            }
        }
    }
}
