//! Motion search on the CPU: a row of a window is a vector, and all motions around the best are compared in one sweep over the
//! rows.

use super::cpu::Clock;
use super::{Motion, SearchStart};
use crate::block::part;
use fearless_simd::{Simd, SimdBase, SimdSplit, f32x16};
use limpid_core::simd::dispatch;
use limpid_plan::{Job, View};
use limpid_reference::definition::film::{CELL, FAR, MARGIN, SKIP, WINDOW};

/// Side of a window with a border of one pixel.
const WIDER: usize = WINDOW + 2;

/// A copy of a window that extends beyond the border.
type Copy = [f32; WIDER * WIDER];

const _: () = assert!(WINDOW == 16, "a row of a window is a vector");
const _: () = assert!(
    SKIP == 2,
    "`halves` takes the row below one as that above the next"
);

pub(super) fn motion(kernel: &Motion, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => cells(simd, kernel, job));
}

#[inline(always)]
fn cells<S: Simd>(simd: S, kernel: &Motion, job: &mut Job<'_>) {
    let ring = job.reads[0].clone();
    let clock = Clock::of(&job.reads[1]);
    let coarse = job.reads.get(2).cloned();
    let centre = ring.plane(clock.centre(kernel.reel));
    let size = (ring.size().width as i32, ring.size().height as i32);
    let width = job.writes[0].size().width;
    let (mut own, mut copy) = ([0.0; WIDER * WIDER], [0.0; WIDER * WIDER]);
    for (n, place) in clock.around(kernel.reel, kernel.radius).enumerate() {
        for y in job.rows.clone() {
            for x in 0..width {
                let mut best = [0; 2];
                if let Some(place) = place {
                    let cell = [x as i32, y as i32];
                    let other = ring.plane(place);
                    let mut search = Cell::new(centre, other, size, cell, &mut own);
                    match &coarse {
                        None => search.everywhere(simd, &mut copy),
                        Some(coarse) => {
                            search.found(simd, coarse, n, &mut copy);
                            search.pixels(simd, &mut copy);
                            if kernel.around == SearchStart::Finest {
                                search.halves(simd, &mut copy);
                            }
                        }
                    }
                    best = search.best;
                }
                job.writes[0].row(2 * n, y)[x] = best[0] as f32;
                job.writes[0].row(2 * n + 1, y)[x] = best[1] as f32;
            }
        }
    }
}

/// The search for one cell. Values are integers small enough that sums are exact in any order.
struct Cell<'a> {
    /// The window, and its stride.
    window: &'a [f32],
    pitch: usize,
    other: &'a [f32],
    size: (i32, i32),
    cell: [i32; 2],
    corner: (i32, i32),
    /// The best motion in half pixels.
    best: [i32; 2],
    cost: f32,
}

/// Uses loops instead of closures and functions of arrays, which would not be inlined.
impl<'a> Cell<'a> {
    #[inline(always)]
    fn new(
        centre: &'a [f32],
        other: &'a [f32],
        size: (i32, i32),
        cell: [i32; 2],
        copy: &'a mut Copy,
    ) -> Self {
        let before = (WINDOW - CELL) as i32 / 2;
        let corner = (
            cell[0] * CELL as i32 - before,
            cell[1] * CELL as i32 - before,
        );
        let (window, pitch) = part::<WINDOW, _>(centre, size, corner, copy);
        Self {
            window,
            pitch,
            other,
            size,
            cell,
            corner,
            best: [0; 2],
            cost: f32::MAX,
        }
    }

    /// Accepts a motion by whole pixels if it is better.
    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, [vx, vy]: [i32; 2], more: f32, copy: &mut Copy) {
        let corner = (self.corner.0 + (vx >> 1), self.corner.1 + (vy >> 1));
        let (from, pitch) = part::<WINDOW, _>(self.other, self.size, corner, copy);
        let mut sums = f32x16::splat(simd, 0.0);
        for j in (0..WINDOW).step_by(SKIP) {
            sums += (row(simd, self.window, self.pitch * j) - row(simd, from, j * pitch)).abs();
        }
        self.better([vx, vy], more + SKIP as f32 * sums.reduce_sum());
    }

    #[inline(always)]
    fn better(&mut self, motion: [i32; 2], cost: f32) {
        if cost < self.cost {
            (self.best, self.cost) = (motion, cost);
        }
    }

    /// At the coarsest level: tries all motions up to the maximum length.
    #[inline(always)]
    fn everywhere<S: Simd>(&mut self, simd: S, copy: &mut Copy) {
        self.take(simd, [0, 0], 0.0, copy);
        for y in -FAR..=FAR {
            for x in -FAR..=FAR {
                self.take(simd, [2 * x, 2 * y], MARGIN, copy);
            }
        }
    }

    /// Tries the motions that the coarser level found here and around, and zero motion.
    #[inline(always)]
    fn found<S: Simd>(&mut self, simd: S, coarse: &View<'_>, n: usize, copy: &mut Copy) {
        let last = coarse.size();
        let mut known = [[0; 2]; 6];
        for (i, (dx, dy)) in [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)]
            .into_iter()
            .enumerate()
        {
            let x = (self.cell[0] / 2 + dx).clamp(0, last.width as i32 - 1) as usize;
            let y = (self.cell[1] / 2 + dy).clamp(0, last.height as i32 - 1) as usize;
            known[i][0] = 2 * coarse.row(2 * n, y)[x] as i32;
            known[i][1] = 2 * coarse.row(2 * n + 1, y)[x] as i32;
        }
        self.take(simd, known[0], 0.0, copy);
        for i in 1..known.len() {
            // Repeated candidates cannot be better.
            let mut again = false;
            for j in 0..i {
                again |= known[i][0] == known[j][0] && known[i][1] == known[j][1];
            }
            if !again {
                self.take(simd, known[i], MARGIN, copy);
            }
        }
    }

    /// The window at the best motion with a border of one pixel, and its stride.
    #[inline(always)]
    fn around_best<'c>(&self, copy: &'c mut Copy) -> (&'c [f32], usize)
    where
        'a: 'c,
    {
        let corner = (
            self.corner.0 + (self.best[0] >> 1) - 1,
            self.corner.1 + (self.best[1] >> 1) - 1,
        );
        part::<WIDER, _>(self.other, self.size, corner, copy)
    }

    /// Tries the pixels around the best motion.
    #[inline(always)]
    fn pixels<S: Simd>(&mut self, simd: S, copy: &mut Copy) {
        let best = self.best;
        let (from, pitch) = self.around_best(copy);
        let mut sums = [f32x16::splat(simd, 0.0); 8];
        for j in (0..WINDOW).step_by(SKIP) {
            let here = row(simd, self.window, self.pitch * j);
            for y in 0..3 {
                for x in 0..3 {
                    if (x, y) != (1, 1) {
                        sums[around(x, y)] += (here - row(simd, from, (j + y) * pitch + x)).abs();
                    }
                }
            }
        }
        self.choose(best, 2, totals(sums), [1.0; 2]);
    }

    /// Tries the half pixels around the best motion, which is a whole one: sums of two and of four pixels. At the finest level
    /// only.
    #[inline(always)]
    fn halves<S: Simd>(&mut self, simd: S, copy: &mut Copy) {
        let best = self.best;
        let (from, pitch) = self.around_best(copy);
        let mut sums = [f32x16::splat(simd, 0.0); 8];
        // Sums to the left and right of a row, and the row itself.
        let mut before = across(simd, from, 0);
        for j in (0..WINDOW).step_by(SKIP) {
            let now = across(simd, from, (j + 1) * pitch);
            let next = across(simd, from, (j + 2) * pitch);
            let upper = [now[0] + before[0], now[1] + before[1], now[2] + before[2]];
            let lower = [now[0] + next[0], now[1] + next[1], now[2] + next[2]];
            let here = row(simd, self.window, self.pitch * j);
            let twice = here + here;
            let four = twice + twice;
            sums[0] += (four - upper[0]).abs();
            sums[1] += (twice - upper[1]).abs();
            sums[2] += (four - upper[2]).abs();
            sums[3] += (twice - now[0]).abs();
            sums[4] += (twice - now[2]).abs();
            sums[5] += (four - lower[0]).abs();
            sums[6] += (twice - lower[1]).abs();
            sums[7] += (four - lower[2]).abs();
            before = next;
        }
        self.choose(best, 1, totals(sums), [0.5, 0.25]);
    }

    /// Selects the best of the eight around, the first if equal; `shares` are the factors of edge and corner sums.
    #[inline(always)]
    fn choose(&mut self, best: [i32; 2], step: i32, sums: [f32; 8], shares: [f32; 2]) {
        for y in 0..3 {
            for x in 0..3 {
                if (x, y) != (1, 1) {
                    let share = if x == 1 || y == 1 {
                        shares[0]
                    } else {
                        shares[1]
                    };
                    let motion = [
                        best[0] + step * (x as i32 - 1),
                        best[1] + step * (y as i32 - 1),
                    ];
                    let sum = SKIP as f32 * sums[around(x, y)];
                    self.better(motion, MARGIN + share * sum);
                }
            }
        }
    }
}

/// The index of one of the eight around, row by row.
#[inline(always)]
fn around(x: usize, y: usize) -> usize {
    let at = 3 * y + x;
    if at > 4 { at - 1 } else { at }
}

/// The sum of each vector. Together they take a third of the steps that one after the other would.
#[inline(always)]
fn totals<S: Simd>(sums: [f32x16<S>; 8]) -> [f32; 8] {
    let [a, b, c, d, e, f, g, h] = sums;
    // Halves of both sums, then quarters of four, then eighths of eight, in turn.
    let (ae, cg) = (folded(a, e), folded(c, g));
    let (bf, dh) = (folded(b, f), folded(d, h));
    let all = folded(folded(ae, cg), folded(bf, dh));
    let (low, high) = all.split();
    (low + high).into()
}

/// Adds the halves of two vectors, and interleaves the sums.
#[inline(always)]
fn folded<S: Simd>(a: f32x16<S>, b: f32x16<S>) -> f32x16<S> {
    a.zip_low(b) + a.zip_high(b)
}

#[inline(always)]
fn row<S: Simd>(simd: S, from: &[f32], at: usize) -> f32x16<S> {
    f32x16::from_slice(simd, &from[at..][..WINDOW])
}

/// For a row of a bordered window: sums of horizontal neighbours, left and right, and in the middle its pixels.
#[inline(always)]
fn across<S: Simd>(simd: S, from: &[f32], at: usize) -> [f32x16<S>; 3] {
    let middle = row(simd, from, at + 1);
    [
        row(simd, from, at) + middle,
        middle,
        middle + row(simd, from, at + 2),
    ]
}
