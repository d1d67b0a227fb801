//! Similarity of the pixels of a patch (Vicini 2015, Eq. 5.9 to 5.14).

use super::{WEIGHT_PLANES, follows, offset, per_pixel, weight_plane};
use crate::own::own;
use fearless_simd::Simd;
use limpid_core::simd::dispatch;
use limpid_core::{Result, Size};
use limpid_plan::fast_exp::fast_exp;
use limpid_plan::wgsl::{Code, Wgsl, float};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, View};
use limpid_reference::definition::patch::{COMPARED, EPSILON, LEAST_SPREAD, LEAST_WEIGHT, PATCH};

/// `w(p, q)` for the following pixels of a patch. Reads the guide and its variance; and, if present, the features, their
/// variance and their spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// `k_c`.
    pub color: f32,
    /// `k_f`.
    pub feature: f32,
    /// Planes of features.
    pub features: usize,
}

const ROWS: usize = 2 * COMPARED + 1;

impl Weights {
    /// Planes of distances: colour, and each feature.
    fn distances(&self) -> usize {
        1 + self.features
    }
}

impl Kernel for Weights {
    fn name(&self) -> &'static str {
        "patch-weights"
    }

    fn contract(&self) -> Contract {
        Contract::rows(if self.features > 0 { 5 } else { 2 }, 1, COMPARED + 2)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let planes = |count: usize| Need::planes(pass.reads[0].size, count);
        let mut needs = vec![planes(pass.reads[0].planes); 2];
        if self.features > 0 {
            needs.extend([planes(self.features); 3]);
        }
        needs.push(planes(WEIGHT_PLANES));
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => all(simd, self, job));
    }

    fn scratch(&self, size: Size) -> usize {
        (1 + self.distances() * ROWS) * padded(size.width) + size.width
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let channels = pass.reads[0].planes;
        let mut pixel = Code::default();
        for (dx, dy) in (0..PATCH).map(offset).filter(|d| follows(*d)) {
            let plane = weight_plane((dx, dy));
            pixel.say(format_args!(
                "write0[{plane}u * p.pixels + i] = weight(x, y, vec2({dx}, {dy}))"
            ));
        }
        let text = Wgsl::default()
            .constant("CHANNELS", "u32", channels)
            .constant("ONE_CHANNEL", "f32", float(1.0 / channels as f32))
            .constant("FEATURES", "u32", self.features)
            .constant("COMPARED", "i32", COMPARED)
            .constant("EPSILON", "f32", float(EPSILON as f32))
            .constant("LEAST_SPREAD", "f32", float(LEAST_SPREAD as f32))
            .constant("LEAST_WEIGHT", "f32", float(LEAST_WEIGHT as f32));
        let text = match self.features {
            0 => text.function("feature(i: u32, j: u32, k: u32) -> f32", "0.0"),
            _ => text.body(include_str!("feature.wgsl")),
        };
        let text = text
            .statements("pixel(x: u32, y: u32, i: u32)", pixel)
            .body(include_str!("weights.wgsl"));
        debug_assert_eq!(pass.writes[0].planes, WEIGHT_PLANES);
        let numbers = [self.color * self.color, self.feature * self.feature];
        Ok(own(self, pass, per_pixel(pass, numbers, text)))
    }
}

/// Length of a row padded for the window at both ends.
fn padded(width: usize) -> usize {
    width + 2 * COMPARED
}

#[inline(always)]
fn all<S: Simd>(simd: S, kernel: &Weights, job: &mut Job<'_>) {
    for a in 0..PATCH {
        if follows(offset(a)) {
            one(simd, kernel, job, offset(a));
        }
    }
}

/// The weights of one offset.
#[inline(always)]
fn one<S: Simd>(_simd: S, kernel: &Weights, job: &mut Job<'_>, (dx, dy): (isize, isize)) {
    let Size { width, height } = job.reads[0].size();
    let n = padded(width);
    let planes = kernel.distances();
    let (line, rest) = job.scratch.split_at_mut(n);
    let (ring, rest) = rest.split_at_mut(planes * ROWS * n);
    let far = &mut rest[..width];
    let plane = weight_plane((dx, dy));
    let down = dy.unsigned_abs();
    // Columns with a partner.
    let columns = (-dx).max(0) as usize..(width as isize - dx.max(0)).max(0) as usize;
    let last = height.saturating_sub(down);
    let mut next = job.rows.start.saturating_sub(COMPARED);
    for y in job.rows.clone() {
        let out = job.writes[0].row(plane, y);
        out.fill(0.0);
        if y >= last || columns.is_empty() {
            continue;
        }
        let rows = y.saturating_sub(COMPARED)..(y + COMPARED + 1).min(last);
        while next < rows.end {
            for k in 0..planes {
                line.fill(0.0);
                let inner = &mut line[COMPARED..][..width];
                let ends = (columns.clone(), dx, down);
                distances(kernel, &job.reads, k, next, ends, inner);
                let sums = &mut ring[(k * ROWS + next % ROWS) * n..][..width];
                for x in 0..width {
                    sums[x] = line[x] + line[x + 1] + line[x + 2] + line[x + 3] + line[x + 4];
                }
            }
            next += 1;
        }
        far.fill(0.0);
        for k in 0..planes {
            let sums = &mut line[..width];
            sums.fill(0.0);
            for j in rows.clone() {
                let row = &ring[(k * ROWS + j % ROWS) * n..][..width];
                for x in 0..width {
                    sums[x] += row[x];
                }
            }
            for x in 0..width {
                far[x] = far[x].max(sums[x]);
            }
        }
        for x in columns.clone() {
            let first = x.saturating_sub(COMPARED).max(columns.start);
            let count = rows.len() * ((x + COMPARED + 1).min(columns.end) - first);
            let near = fast_exp(-far[x] / count as f32);
            out[x] = if near > LEAST_WEIGHT as f32 {
                near
            } else {
                0.0
            };
        }
    }
}

/// A row of distances to the pixels at an offset, of colour (`k` = 0) or of a feature.
#[inline(always)]
fn distances(
    kernel: &Weights,
    reads: &[View<'_>],
    k: usize,
    y: usize,
    (columns, dx, down): (std::ops::Range<usize>, isize, usize),
    out: &mut [f32],
) {
    let (from, len) = (columns.start, columns.len());
    let to = (from as isize + dx) as usize;
    let pair = |slot: usize, c: usize| {
        (
            &reads[slot].row(c, y)[from..][..len],
            &reads[slot].row(c, y + down)[to..][..len],
        )
    };
    let out = &mut out[from..][..len];
    let epsilon = EPSILON as f32;
    if k == 0 {
        let channels = reads[0].planes();
        let (k2, share) = (kernel.color * kernel.color, 1.0 / channels as f32);
        for c in 0..channels {
            let ((ua, ub), (va, vb)) = (pair(0, c), pair(1, c));
            for x in 0..len {
                let noise = va[x] + vb[x];
                let apart = ua[x] - ub[x];
                out[x] += share * ((apart * apart - noise) / (epsilon + k2 * noise));
            }
        }
        return;
    }
    let least = LEAST_SPREAD as f32;
    let k2 = kernel.feature * kernel.feature;
    let ((fa, fb), (va, vb), (sa, sb)) = (pair(2, k - 1), pair(3, k - 1), pair(4, k - 1));
    for x in 0..len {
        let noise = va[x] + vb[x];
        let apart = fa[x] - fb[x];
        let spread = sa[x].max(least) + sb[x].max(least);
        out[x] = (apart * apart - noise) / (epsilon + k2 * spread);
    }
}
