//! A tile of quads on the CPU: rows of samples are loaded from an image or from coefficients, mirrored at the borders, and stored.

use super::plane::{Bands, Plane, halves};
use fearless_simd::{Level, Simd};
use limpid_core::simd::dispatch;
use limpid_wavelet::mirrored;

/// A tile with its halo, in quads.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// Its first quad, and its size.
    pub from: (usize, usize),
    pub size: (usize, usize),
    /// Its halo: left, right, above, below.
    pub margin: [usize; 4],
}

/// A row of each sample.
pub(super) type Rows<'a> = [&'a mut [f32]; 4];

impl Tile {
    pub(super) fn width(&self) -> usize {
        self.size.0 + self.margin[0] + self.margin[1]
    }

    pub(super) fn height(&self) -> usize {
        self.size.1 + self.margin[2] + self.margin[3]
    }

    /// The pixel of a sample in column or row `i` of the haloed tile, in a line of `n` pixels.
    fn pixel(&self, axis: usize, i: usize, odd: usize, n: usize) -> usize {
        let (from, margin) = match axis {
            0 => (self.from.0, self.margin[0]),
            _ => (self.from.1, self.margin[2]),
        };
        let quad = from as i64 + i as i64 - margin as i64;
        mirrored(2 * quad + odd as i64, n)
    }

    /// Loads a row of quads from the image.
    pub(super) fn load(&self, simd: Level, row: usize, rows: &mut Rows<'_>, src: &Plane<'_>) {
        let (width, n) = (self.width(), src.size.width);
        let begin = 2 * (self.from.0 as i64 - self.margin[0] as i64);
        let inside = begin >= 0 && begin as usize + 2 * width <= n;
        let [a, b, c, d] = rows;
        for (odd_y, even, odd) in [(0, a, b), (1, c, d)] {
            let y = self.pixel(1, row, odd_y, src.size.height);
            let line = &src.data[y * src.stride..][..n];
            let (even, odd) = (&mut even[..width], &mut odd[..width]);
            if inside {
                let line = &line[begin as usize..begin as usize + 2 * width];
                dispatch!(simd, s => split(s, line, even, odd));
            } else {
                for (i, (a, b)) in even.iter_mut().zip(odd).enumerate() {
                    *a = line[self.pixel(0, i, 0, n)];
                    *b = line[self.pixel(0, i, 1, n)];
                }
            }
        }
    }

    /// Loads a row of quads from the coefficients.
    pub(super) fn gather(
        &self,
        simd: Level,
        row: usize,
        rows: &mut Rows<'_>,
        (bands, scales): (&Bands<'_>, [f32; 3]),
    ) {
        let (w, h) = (bands.size.width, bands.size.height);
        let (lw, lh) = (halves(w).0, halves(h).0);
        let width = self.width();
        let from = self.from.0 as i64 - self.margin[0] as i64;
        for (sample, to) in rows.iter_mut().enumerate() {
            let to = &mut to[..width];
            let (odd_x, odd_y) = (sample % 2, sample / 2);
            let scale = scales[odd_x + odd_y];
            let limit = match sample {
                0 => 0.0,
                _ => bands.limits[sample - 1],
            };
            // A line of one sample has no high coefficients.
            if (odd_x == 1 && w == 1) || (odd_y == 1 && h == 1) {
                to.fill(0.0);
                continue;
            }
            let count = if odd_x == 1 { w - lw } else { lw };
            let inside = from >= 0 && from as usize + width <= count;
            let y = self.pixel(1, row, odd_y, h) / 2;
            let line = match sample {
                0 => &bands.ll.data[y * bands.ll.stride..][..lw],
                _ => &bands.packed[(y + odd_y * lh) * bands.stride + odd_x * lw..][..count],
            };
            if inside {
                let line = &line[from as usize..from as usize + width];
                if limit == 0.0 {
                    dispatch!(simd, s => put(s, to, line, scale, 0.0));
                } else {
                    for (to, v) in to.iter_mut().zip(line) {
                        *to = soft(*v, limit) * scale;
                    }
                }
            } else {
                for (i, to) in to.iter_mut().enumerate() {
                    *to = soft(line[self.pixel(0, i, odd_x, w) / 2], limit) * scale;
                }
            }
        }
    }
}

/// Soft-thresholds by a limit.
fn soft(v: f32, limit: f32) -> f32 {
    if limit == 0.0 {
        return v;
    }
    v.signum() * (v.abs() - limit).max(0.0)
}

/// Scales a row and soft-thresholds it.
#[inline(always)]
pub(super) fn put<S: Simd>(_: S, to: &mut [f32], from: &[f32], scale: f32, limit: f32) {
    if limit == 0.0 {
        for (to, v) in to.iter_mut().zip(from) {
            *to = v * scale;
        }
        return;
    }
    for (to, v) in to.iter_mut().zip(from) {
        *to = soft(v * scale, limit);
    }
}

/// Merges even and odd samples; the last odd one may be missing.
#[inline(always)]
pub(super) fn weave<S: Simd>(_: S, to: &mut [f32], [even, odd]: [&[f32]; 2]) {
    let (pairs, last) = to.as_chunks_mut::<2>();
    for ((pair, a), b) in pairs.iter_mut().zip(even).zip(odd) {
        *pair = [*a, *b];
    }
    if let ([last], Some(v)) = (last, even.last()) {
        *last = *v;
    }
}

/// Separates even and odd samples.
#[inline(always)]
fn split<S: Simd>(_: S, row: &[f32], even: &mut [f32], odd: &mut [f32]) {
    let (pairs, _) = row.as_chunks::<2>();
    for ((pair, a), b) in pairs.iter().zip(even).zip(odd) {
        (*a, *b) = (pair[0], pair[1]);
    }
}
