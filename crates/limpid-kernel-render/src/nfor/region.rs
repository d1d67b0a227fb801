//! Copies of the surroundings of a row of a strip, with zeros outside the image.
//!
//! Planes are adjacent, row by row, at a constant stride: one bounds check covers several of them.

use super::LocalRegression;
use fearless_simd::{Simd, SimdBase, f32x16};
use limpid_plan::View;
use limpid_plan::sweep::LANES;

/// Columns of a strip.
pub(super) const WIDTH: usize = 64;
/// Stride between planes of a row. An odd number of cache lines, so that planes do not compete for the same sets; wide enough
/// for a strip, the largest window, patches, and one vector after them.
pub(super) const ROW: usize = 176;
/// Planes that are processed together.
pub(super) const TOGETHER: usize = 6;
/// The span of their values starting at one column.
const SPAN: usize = (TOGETHER - 1) * ROW + LANES;

/// Rows around a row: guide and variance alternating, or features, data and classes.
#[derive(Clone, Copy)]
pub(super) struct Region {
    /// Rows and columns around those of the strip.
    pub(super) radius: usize,
    /// Additional columns on either side.
    pub(super) margin: usize,
    /// Planes of a row.
    pub(super) planes: usize,
}

impl Region {
    /// The region of the guide.
    pub(super) fn guide(fit: &LocalRegression) -> Self {
        Self {
            radius: fit.settings.window.radius,
            margin: fit.settings.patch,
            planes: 2 * fit.channels,
        }
    }

    /// The region of the fitted data.
    pub(super) fn values(fit: &LocalRegression) -> Self {
        Self {
            radius: fit.settings.window.radius,
            margin: 0,
            planes: fit.features + fit.data + 1,
        }
    }

    /// Values of all rows, with padding after the last.
    pub(super) fn words(&self) -> usize {
        (2 * self.radius + 1) * self.planes * ROW + SPAN
    }

    /// Index of a column of the strip, in the first plane of the row itself.
    #[inline(always)]
    pub(super) fn place(&self, x: usize) -> usize {
        self.radius * self.planes * ROW + self.radius + x
    }

    /// Index offset of a tap.
    #[inline(always)]
    pub(super) fn shift(&self, dx: i64, dy: i64) -> isize {
        dy as isize * (self.planes * ROW) as isize + dx as isize
    }

    /// Copies one plane of the rows around `y` to `plane`, with `add` added.
    #[inline(always)]
    fn copy(
        &self,
        to: &mut [f32],
        plane: usize,
        (from, number): (&View<'_>, usize),
        (x, y): (usize, usize),
        add: f32,
    ) {
        let size = from.size();
        let before = self.radius + self.margin;
        let start = x.saturating_sub(before);
        let until = (x + WIDTH + before).min(size.width);
        let skip = start + before - x;
        let rows = to.chunks_exact_mut(self.planes * ROW);
        for (j, row) in rows.enumerate().take(2 * self.radius + 1) {
            let to = &mut row[plane * ROW..][..ROW];
            let y = (y + j).wrapping_sub(self.radius);
            if y >= size.height {
                to.fill(0.0);
                continue;
            }
            let src = &from.row(number, y)[start..until];
            to[..skip].fill(0.0);
            for (t, s) in to[skip..].iter_mut().zip(src) {
                *t = s + add;
            }
            to[skip + src.len()..].fill(0.0);
        }
    }

    /// Guide and variance around row `y` of the strip at `x`.
    #[inline(always)]
    pub(super) fn fill_guide(
        &self,
        to: &mut [f32],
        reads: &[View<'_>],
        fit: &LocalRegression,
        at: (usize, usize),
    ) {
        for c in 0..fit.channels {
            self.copy(to, 2 * c, (&reads[0], c), at, 0.0);
            self.copy(to, 2 * c + 1, (&reads[1], c), at, fit.settings.floor);
        }
    }

    /// Features, data and classes around row `y` of the strip. The value of the strip's middle pixel is subtracted from
    /// features, which keeps sums of their products small.
    #[inline(always)]
    pub(super) fn fill_values(
        &self,
        to: &mut [f32],
        reads: &[View<'_>],
        fit: &LocalRegression,
        (x, wide): (usize, usize),
        y: usize,
    ) {
        for c in 0..fit.features {
            let middle = reads[4].row(c, y)[x + wide / 2];
            self.copy(to, c, (&reads[4], c), (x, y), -middle);
        }
        for d in 0..fit.data {
            self.copy(to, fit.features + d, (&reads[3], d), (x, y), 0.0);
        }
        self.copy(to, self.planes - 1, (&reads[2], 0), (x, y), 0.0);
    }
}

/// Adjacent planes starting at one column.
#[derive(Clone, Copy)]
pub(super) struct Beside<'a>(&'a [f32; SPAN]);

impl<'a> Beside<'a> {
    /// The planes starting at `at`.
    #[inline(always)]
    pub(super) fn new(values: &'a [f32], at: usize) -> Self {
        // Regions are padded at the end, so the zeros are never used.
        Self(values[at..].first_chunk().unwrap_or(&[0.0; SPAN]))
    }

    /// Sixteen values of plane `c`.
    #[inline(always)]
    pub(super) fn load<S: Simd>(self, simd: S, c: usize) -> f32x16<S> {
        let piece = self.0[c * ROW..].first_chunk().unwrap_or(&[0.0; LANES]);
        f32x16::load_array_ref(simd, piece)
    }
}
