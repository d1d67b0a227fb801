//! Filters of rank one and two: sums down columns, then along rows.

use super::clip;
use super::quads::{Axes, Quad, Stretch};
use fearless_simd::Simd;
use limpid_plan::sweep::{Piece, mix, mix_many, sweep, window};

/// A filter of rank one: symmetric taps along columns and rows.
#[derive(Debug)]
pub(super) struct RankOne {
    taps: [Vec<f32>; 2],
    /// Normalisation for taps outside the image: the factor of each row, and near the ends of a row.
    rows: Vec<f32>,
    ends: Vec<(usize, f32)>,
}

impl RankOne {
    /// For an image of this width and height. An axis that is not filtered has one tap.
    pub(super) fn new(down: &[f32], along: &[f32], width: usize, height: usize) -> Self {
        let ends = (0..width).filter(|x| near_end(*x, width, along.len() / 2));
        Self {
            rows: (0..height).map(|y| inside(down, y, height)).collect(),
            ends: ends.map(|x| (x, inside(along, x, width))).collect(),
            taps: [down, along].map(|taps| {
                let all: f32 = taps.iter().sum();
                taps.iter().map(|t| t / all).collect()
            }),
        }
    }
}

/// The sum of all taps over the sum of those inside `0..n` around `at`.
fn inside(taps: &[f32], at: usize, n: usize) -> f32 {
    let r = taps.len() / 2;
    let window = clip(at, n, r);
    let there = &taps[window.start + r - at..window.end + r - at];
    if there.len() == taps.len() {
        1.0
    } else {
        taps.iter().sum::<f32>() / there.iter().sum::<f32>()
    }
}

/// A padded row as rows with successive start offsets.
pub(super) fn shift<'a>(row: &'a [f32], columns: usize) -> impl Fn(usize) -> &'a [f32] {
    move |i| &row[i..i + columns]
}

impl Axes<1, 1> for RankOne {
    fn reach(&self) -> [usize; 2] {
        self.taps.each_ref().map(|taps| taps.len() / 2)
    }

    #[inline(always)]
    fn down<'a, S: Simd>(&self, simd: S, row: impl Fn(usize) -> &'a [f32], [sums]: [Quad<'_>; 1]) {
        let taps = &self.taps[0][..];
        match taps.len() {
            1 => down::<S, 1, 4>(simd, row, taps, sums),
            3 => down::<S, 3, 6>(simd, row, taps, sums),
            5 => down::<S, 5, 8>(simd, row, taps, sums),
            7 => down::<S, 7, 10>(simd, row, taps, sums),
            _ => {
                for (q, sums) in sums.into_iter().enumerate() {
                    mix_many(simd, &|i| row(q + i), taps, sums);
                }
            }
        }
    }

    fn stays_down(&self) -> bool {
        self.taps[1].len() == 1
    }

    #[inline(always)]
    fn along<S: Simd>(&self, simd: S, [sums]: [&[f32]; 1], _at: &Stretch, [made]: [&mut [f32]; 1]) {
        let (taps, row) = (&self.taps[1][..], shift(sums, made.len()));
        match taps.len() {
            1 => along::<S, 1>(simd, row, taps, made),
            3 => along::<S, 3>(simd, row, taps, made),
            5 => along::<S, 5>(simd, row, taps, made),
            7 => along::<S, 7>(simd, row, taps, made),
            _ => mix_many(simd, &row, taps, made),
        }
    }

    fn finish(&self, at: &Stretch, [made]: [&mut [f32]; 1]) {
        let factor = self.rows[at.y];
        if factor != 1.0 {
            for v in &mut *made {
                *v *= factor;
            }
        }
        for (x, factor) in &self.ends {
            if at.columns.contains(x) {
                made[x - at.columns.start] *= factor;
            }
        }
    }
}

/// Computes four rows with `N` taps, from `R = N + 3` rows.
#[inline(always)]
fn down<'a, S: Simd, const N: usize, const R: usize>(
    simd: S,
    row: impl Fn(usize) -> &'a [f32],
    taps: &[f32],
    sums: Quad<'_>,
) {
    let r = N / 2;
    let mut half = [0.0; N];
    half[..=r].copy_from_slice(&taps[r..]);
    sweep(
        simd,
        (std::array::from_fn(row), [], []),
        [sums],
        #[inline(always)]
        |(v, [], []): Piece<S, R, 0, 0>| {
            let mut made = [v[0]; 4];
            for q in 0..4 {
                made[q] = mix(&v, r + q, &half[..=r]);
            }
            [made]
        },
    );
}

#[inline(always)]
fn along<'a, S: Simd, const N: usize>(
    simd: S,
    row: impl Fn(usize) -> &'a [f32],
    taps: &[f32],
    made: &mut [f32],
) {
    let r = N / 2;
    let mut half = [0.0; N];
    half[..=r].copy_from_slice(&taps[r..]);
    sweep(
        simd,
        (std::array::from_fn(row), [], []),
        [[made]],
        #[inline(always)]
        |(v, [], []): Piece<S, N, 0, 0>| [[mix(&v, r, &half[..=r])]],
    );
}

/// `k - b(|i| + |j|)`: with column sums `t = Σ (k - b|j|) I` and `u = Σ I`, a pixel is `Σ t - b Σ |i| u` along the row.
#[derive(Debug)]
pub(super) struct Tent2 {
    pub radius: usize,
    pub peak: f32,
    pub slope: f32,
    pub width: usize,
    pub height: usize,
}

impl Tent2 {
    /// `k - b|i|` and `b|i|`.
    fn taps(&self) -> [Vec<f32>; 2] {
        let distance = |i: usize| self.slope * i.abs_diff(self.radius) as f32;
        [
            (0..=2 * self.radius)
                .map(|i| self.peak - distance(i))
                .collect(),
            (0..=2 * self.radius).map(distance).collect(),
        ]
    }
}

impl Tent2 {
    /// The counts of a window that is completely inside.
    fn whole(&self) -> (f32, f32) {
        let r = self.radius;
        ((2 * r + 1) as f32, (r * (r + 1)) as f32)
    }

    /// The sum of the weights inside, in row `y`, given the counts of a column.
    fn weights(&self, (nx, sx): (f32, f32), y: usize) -> f32 {
        let (ny, sy) = counts(y, self.height, self.radius);
        self.peak * nx * ny - self.slope * (ny * sx + nx * sy)
    }
}

impl Axes<2, 1> for Tent2 {
    fn reach(&self) -> [usize; 2] {
        [self.radius; 2]
    }

    #[inline(always)]
    fn down<'a, S: Simd>(&self, simd: S, row: impl Fn(usize) -> &'a [f32], sums: [Quad<'_>; 2]) {
        match self.radius {
            1 => tent_down::<S, 3, 6>(simd, row, self, sums),
            2 => tent_down::<S, 5, 8>(simd, row, self, sums),
            3 => tent_down::<S, 7, 10>(simd, row, self, sums),
            r => {
                let ([taps, _], ones) = (self.taps(), vec![1.0; 2 * r + 1]);
                let [t, u] = sums;
                for (q, (t, u)) in std::iter::zip(t, u).enumerate() {
                    mix_many(simd, &|i| row(q + i), &taps, t);
                    mix_many(simd, &|i| row(q + i), &ones, u);
                }
            }
        }
    }

    #[inline(always)]
    fn along<S: Simd>(&self, simd: S, [t, u]: [&[f32]; 2], at: &Stretch, [made]: [&mut [f32]; 1]) {
        let (n, y) = (made.len(), at.y);
        let share = 1.0 / self.weights(self.whole(), y);
        match self.radius {
            1 => tent_along::<S, 3>(simd, [t, u], [self.slope, share], made),
            2 => tent_along::<S, 5>(simd, [t, u], [self.slope, share], made),
            3 => tent_along::<S, 7>(simd, [t, u], [self.slope, share], made),
            r => {
                let ([_, taps], ones) = (self.taps(), vec![1.0; 2 * r + 1]);
                let mut less = vec![0.0; n];
                mix_many(simd, &shift(t, n), &ones, made);
                mix_many(simd, &shift(u, n), &taps, &mut less);
                for (v, less) in made.iter_mut().zip(less) {
                    *v = (*v - less) * share;
                }
            }
        }
        let right = self.width.saturating_sub(self.radius).max(self.radius);
        let ends = (0..self.radius.min(self.width)).chain(right..self.width);
        for x in ends.filter(|x| at.columns.contains(x)) {
            let weights = self.weights(counts(x, self.width, self.radius), y);
            made[x - at.columns.start] *= self.weights(self.whole(), y) / weights;
        }
    }
}

/// Whether a window around `at` extends beyond `0..n`.
fn near_end(at: usize, n: usize, radius: usize) -> bool {
    at < radius || at + radius >= n
}

/// Number of taps inside, and the sum of their distances.
fn counts(at: usize, n: usize, radius: usize) -> (f32, f32) {
    let window = clip(at, n, radius);
    let distance: usize = window.clone().map(|q| q.abs_diff(at)).sum();
    (window.len() as f32, distance as f32)
}

#[inline(always)]
fn tent_down<'a, S: Simd, const N: usize, const R: usize>(
    simd: S,
    row: impl Fn(usize) -> &'a [f32],
    tent: &Tent2,
    sums: [Quad<'_>; 2],
) {
    let r = N / 2;
    let mut half = [0.0; N];
    for (j, k) in half[..=r].iter_mut().enumerate() {
        *k = tent.peak - tent.slope * j as f32;
    }
    sweep(
        simd,
        (std::array::from_fn(row), [], []),
        sums,
        #[inline(always)]
        |(v, [], []): Piece<S, R, 0, 0>| {
            let mut made = [v[0]; 4];
            for q in 0..4 {
                made[q] = mix(&v, r + q, &half[..=r]);
            }
            [made, window(&v)]
        },
    );
}

#[inline(always)]
fn tent_along<S: Simd, const N: usize>(
    simd: S,
    [t, u]: [&[f32]; 2],
    [slope, share]: [f32; 2],
    made: &mut [f32],
) {
    let (n, r) = (made.len(), N / 2);
    sweep(
        simd,
        (
            std::array::from_fn(shift(t, n)),
            std::array::from_fn(shift(u, n)),
            [],
        ),
        [[made]],
        #[inline(always)]
        |(t, u, []): Piece<S, N, N, 0>| {
            let mut sum = t[r];
            for i in 1..=r {
                let pair = u[r - i] + u[r + i];
                sum += (t[r - i] + t[r + i]) - pair * (slope * i as f32);
            }
            [[sum * share]]
        },
    );
}
