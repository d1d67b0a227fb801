//! Mean and standard deviation: column sums of values and squares, then along the row.
//!
//! A sliding sum must not be updated by adding and subtracting: rounding errors would accumulate, and the result would depend
//! on the start of a band. Along columns the rows are divided into blocks as long as the window; each window is the end of one
//! block and the start of the next, and both are running sums (van Herk). Along rows, sums of 1, 2, 4, … pixels are combined.
//! Either way the work per pixel hardly depends on the radius.

use super::clip;
use super::linear::shift;
use super::quads::{Axes, Quad, Stretch};
use fearless_simd::{Simd, SimdBase, SimdFloat, f32x16};
use limpid_core::Size;
use limpid_plan::sweep::{Piece, sweep, window};
use limpid_plan::{Job, View};

/// Windows of up to this radius are summed directly.
const SMALL: usize = 3;

/// Small windows: their sums are recomputed for each pixel.
#[derive(Debug)]
pub(super) struct SmallWindow {
    pub radius: usize,
    pub height: usize,
    /// One over the number of taps inside, for each column.
    pub shares: Vec<f32>,
}

impl SmallWindow {
    /// For images of this size, if the window is small.
    pub(super) fn new(radius: usize, size: Size) -> Option<Self> {
        let share = |x| 1.0 / clip(x, size.width, radius).len() as f32;
        (radius <= SMALL).then(|| Self {
            radius,
            height: size.height,
            shares: (0..size.width).map(share).collect(),
        })
    }
}

impl Axes<2, 2> for SmallWindow {
    fn reach(&self) -> [usize; 2] {
        [self.radius; 2]
    }

    #[inline(always)]
    fn down<'a, S: Simd>(&self, simd: S, row: impl Fn(usize) -> &'a [f32], sums: [Quad<'_>; 2]) {
        match self.radius {
            0 => down::<S, 4>(simd, row, sums),
            1 => down::<S, 6>(simd, row, sums),
            2 => down::<S, 8>(simd, row, sums),
            _ => down::<S, 10>(simd, row, sums),
        }
    }

    #[inline(always)]
    fn along<S: Simd>(&self, simd: S, sums: [&[f32]; 2], at: &Stretch, made: [&mut [f32]; 2]) {
        let shares = &self.shares[at.columns.clone()];
        let share = 1.0 / clip(at.y, self.height, self.radius).len() as f32;
        match self.radius {
            0 => along::<S, 1>(simd, sums, (shares, share), made),
            1 => along::<S, 3>(simd, sums, (shares, share), made),
            2 => along::<S, 5>(simd, sums, (shares, share), made),
            _ => along::<S, 7>(simd, sums, (shares, share), made),
        }
    }
}

/// The rows of four windows: `R` is three more than the size of a window.
#[inline(always)]
fn down<'a, S: Simd, const R: usize>(
    simd: S,
    row: impl Fn(usize) -> &'a [f32],
    sums: [Quad<'_>; 2],
) {
    sweep(
        simd,
        (std::array::from_fn(row), [], []),
        sums,
        #[inline(always)]
        |(v, [], []): Piece<S, R, 0, 0>| {
            let mut squares = v;
            for i in 0..R {
                squares[i] = v[i] * v[i];
            }
            [window(&v), window(&squares)]
        },
    );
}

#[inline(always)]
fn along<S: Simd, const N: usize>(
    simd: S,
    [s, q]: [&[f32]; 2],
    (shares, share): (&[f32], f32),
    [mean, deviation]: [&mut [f32]; 2],
) {
    let n = mean.len();
    let zero = f32x16::splat(simd, 0.0);
    sweep(
        simd,
        (
            std::array::from_fn(shift(s, n)),
            std::array::from_fn(shift(q, n)),
            [shares],
        ),
        [[mean], [deviation]],
        #[inline(always)]
        |(s, q, [shares]): Piece<S, N, N, 1>| {
            let (mut sum, mut squares) = (s[0], q[0]);
            for i in 1..N {
                sum += s[i];
                squares += q[i];
            }
            let share = shares * share;
            let mean = sum * share;
            let spread = (squares * share - mean * mean).max(zero);
            // A single pixel has no deviation, not even by rounding.
            let alone = share.simd_gt(0.75);
            let spread = fearless_simd::Select::select(alone, zero, spread.sqrt());
            [[mean], [spread]]
        },
    );
}

/// Two padded rows, two rows for sums, one over the number of taps inside, a row of zeros; and the ends of blocks.
pub(super) fn scratch(radius: usize, width: usize) -> usize {
    2 * (width + 2 * radius) + 2 * width + 2 * (2 * radius + 2) * width
}

/// Large windows.
#[inline(always)]
pub(super) fn large<S: Simd>(simd: S, job: &mut Job<'_>, r: usize) {
    let src = job.reads[0].clone();
    let (width, height) = (src.size().width, src.size().height);
    let (s, rest) = job.scratch.split_at_mut(width + 2 * r);
    let (q, rest) = rest.split_at_mut(width + 2 * r);
    let (sums, rest) = rest.split_at_mut(2 * width);
    s.fill(0.0);
    q.fill(0.0);
    let shares: Vec<f32> = (0..width)
        .map(|x| 1.0 / clip(x, width, r).len() as f32)
        .collect();
    let (first, second) = job.writes.split_at_mut(1);
    for plane in 0..src.planes() {
        let mut blocks = Blocks::new(rest, width, r);
        for y in job.rows.clone() {
            blocks.down(&src, plane, y, (&mut s[r..r + width], &mut q[r..r + width]));
            let share = 1.0 / clip(y, height, r).len() as f32;
            let (a, b) = sums.split_at_mut(width);
            // Doubling overwrites the padded rows.
            double(s, 2 * r + 1, a);
            double(q, 2 * r + 1, b);
            let made = [first[0].row(plane, y), second[0].row(plane, y)];
            along::<S, 1>(simd, [a, b], (&shares, share), made);
            for padded in [&mut *s, &mut *q] {
                padded[..r].fill(0.0);
                padded[r + width..].fill(0.0);
            }
        }
    }
}

/// `out[x] = Σ row[x + i]` for `i` in `0..length`, from sums of 1, 2, 4, … values computed in place.
#[inline(always)]
fn double(row: &mut [f32], length: usize, out: &mut [f32]) {
    let n = out.len();
    out.fill(0.0);
    let (mut size, mut offset) = (1, 0);
    while size <= length {
        if length & size != 0 {
            for (o, v) in out.iter_mut().zip(&row[offset..offset + n]) {
                *o += v;
            }
            offset += size;
        }
        let last = row.len().saturating_sub(size);
        for x in 0..last {
            row[x] += row[x + size];
        }
        size *= 2;
    }
}

/// Sums along the columns by blocks of rows, each as long as the window.
struct Blocks<'a> {
    /// For each row of the current block, the sums from there to the block's end; values, then squares.
    ends: &'a mut [f32],
    /// The sums from the start of the next block.
    start: (&'a mut [f32], &'a mut [f32]),
    width: usize,
    radius: usize,
    present: Option<usize>,
}

impl<'a> Blocks<'a> {
    fn new(scratch: &'a mut [f32], width: usize, radius: usize) -> Self {
        let length = 2 * radius + 1;
        let (ends, rest) = scratch.split_at_mut(2 * length * width);
        let (a, b) = rest.split_at_mut(rest.len().min(width));
        Self {
            ends,
            start: (a, b),
            width,
            radius,
            present: None,
        }
    }

    #[inline(always)]
    fn down(&mut self, src: &View<'_>, plane: usize, y: usize, into: (&mut [f32], &mut [f32])) {
        let (width, length, height) = (self.width, 2 * self.radius + 1, src.size().height);
        // Rows are counted from one window above the image, so that none is negative.
        let row = |at: usize| {
            at.checked_sub(length)
                .filter(|j| *j < height)
                .map(|j| src.row(plane, j))
        };
        let top = y + length - self.radius;
        let (block, within) = (top / length, top % length);
        if self.present != Some(block) {
            self.present = Some(block);
            self.start.0[..width].fill(0.0);
            self.start.1[..width].fill(0.0);
            let bytes = 2 * width;
            self.ends[(length - 1) * bytes..].fill(0.0);
            for k in (within..length).rev() {
                if k + 1 < length {
                    self.ends
                        .copy_within((k + 1) * bytes..(k + 2) * bytes, k * bytes);
                }
                if let Some(row) = row(block * length + k) {
                    let (s, q) = self.ends[k * bytes..(k + 1) * bytes].split_at_mut(width);
                    add(row, s, q);
                }
            }
            for k in 0..within {
                if let Some(row) = row((block + 1) * length + k) {
                    add(row, &mut self.start.0[..width], &mut self.start.1[..width]);
                }
            }
        } else if let Some(row) = row((block + 1) * length + within - 1) {
            add(row, &mut self.start.0[..width], &mut self.start.1[..width]);
        }
        let (s, q) = self.ends[within * 2 * width..][..2 * width].split_at(width);
        for x in 0..width {
            into.0[x] = s[x] + self.start.0[x];
            into.1[x] = q[x] + self.start.1[x];
        }
    }
}

#[inline(always)]
fn add(row: &[f32], s: &mut [f32], q: &mut [f32]) {
    for ((v, s), q) in row.iter().zip(s).zip(q) {
        *s += v;
        *q += v * v;
    }
}
