//! Copies of what a row of a strip looks at, with zeros outside the image.
//!
//! Planes lie side by side, row by row, at a distance that the compiler knows: one test of an index serves several of them.

use super::LocalRegression;
use crate::kernel::View;
use crate::kernel::sweep::LANES;
use fearless_simd::{Simd, SimdBase, f32x16};

/// Columns of a strip.
pub(super) const WIDTH: usize = 64;
/// From a plane of a row to the next. An odd number of cache lines, so that planes do not compete for the same sets; wide
/// enough for a strip, the largest window, patches, and a piece behind them.
pub(super) const ROW: usize = 176;
/// Planes that are processed together.
pub(super) const TOGETHER: usize = 6;
/// Their values from one column on.
const SPAN: usize = (TOGETHER - 1) * ROW + LANES;

/// Rows around a row: guide and variance in turns, or features, data and classes.
#[derive(Clone, Copy)]
pub(super) struct Region {
    /// Rows and columns before the strip's.
    pub(super) radius: usize,
    /// Columns more on either side.
    pub(super) margin: usize,
    /// Planes of a row.
    pub(super) planes: usize,
}

impl Region {
    /// Of the guide.
    pub(super) fn guide(fit: &LocalRegression) -> Self {
        Self {
            radius: fit.settings.window.radius,
            margin: fit.settings.patch,
            planes: 2 * fit.channels,
        }
    }

    /// Of what is fitted.
    pub(super) fn values(fit: &LocalRegression) -> Self {
        Self {
            radius: fit.settings.window.radius,
            margin: 0,
            planes: fit.features + fit.data + 1,
        }
    }

    /// Values of all rows, with room behind the last.
    pub(super) fn words(&self) -> usize {
        (2 * self.radius + 1) * self.planes * ROW + SPAN
    }

    /// Where a column of the strip is, in the first plane of the row itself.
    #[inline(always)]
    pub(super) fn place(&self, x: usize) -> usize {
        self.radius * self.planes * ROW + self.radius + x
    }

    /// How far away a tap is.
    #[inline(always)]
    pub(super) fn shift(&self, dx: i64, dy: i64) -> isize {
        dy as isize * (self.planes * ROW) as isize + dx as isize
    }

    /// Copies one plane of the rows around `y` to the place of `plane`, with `add` added.
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

    /// Features, data and classes around row `y` of the strip. Features have the value of the strip's middle pixel taken
    /// off, which keeps sums of their products small.
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

/// Planes side by side from one column on.
#[derive(Clone, Copy)]
pub(super) struct Beside<'a>(&'a [f32; SPAN]);

impl<'a> Beside<'a> {
    /// Those from `at` on.
    #[inline(always)]
    pub(super) fn new(values: &'a [f32], at: usize) -> Self {
        // Regions have room behind their end, so the zeros are never taken.
        Self(values[at..].first_chunk().unwrap_or(&[0.0; SPAN]))
    }

    /// Sixteen values of plane `c`.
    #[inline(always)]
    pub(super) fn load<S: Simd>(self, simd: S, c: usize) -> f32x16<S> {
        let piece = self.0[c * ROW..].first_chunk().unwrap_or(&[0.0; LANES]);
        f32x16::load_array_ref(simd, piece)
    }
}
