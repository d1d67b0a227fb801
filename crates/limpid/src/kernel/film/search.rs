//! Motion on the CPU: a row of a window is a vector, and sums that are too large already end early.

use super::cpu::Clock;
use super::{Around, Motion};
use crate::definition::film::{CELL, FAR, MARGIN, WINDOW};
use crate::kernel::block::part;
use crate::kernel::{Job, View};
use crate::simd::dispatch;

/// A window with a pixel more, for half pixels.
const WIDER: usize = WINDOW + 1;

pub(super) fn motion(kernel: &Motion, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, _simd => cells(kernel, job));
}

#[inline(always)]
fn cells(kernel: &Motion, job: &mut Job<'_>) {
    let ring = job.reads[0].clone();
    let clock = Clock::of(&job.reads[1]);
    let coarse = job.reads.get(2).cloned();
    let centre = ring.plane(clock.centre(kernel.reel));
    let size = ring.size();
    let width = job.writes[0].size().width;
    for (n, place) in clock.around(kernel.reel).enumerate() {
        for y in job.rows.clone() {
            for x in 0..width {
                let best = match place {
                    None => [0; 2],
                    Some(place) => {
                        let cell = [x as i32, y as i32];
                        let size = (size.width as i32, size.height as i32);
                        let mut search = Cell::new(centre, ring.plane(place), size, cell);
                        match &coarse {
                            None => search.everywhere(),
                            Some(coarse) => {
                                search.around(coarse, n, kernel.around == Around::Finest);
                            }
                        }
                        search.best
                    }
                };
                job.writes[0].row(2 * n, y)[x] = best[0] as f32;
                job.writes[0].row(2 * n + 1, y)[x] = best[1] as f32;
            }
        }
    }
}

/// The search for one cell.
struct Cell<'a> {
    window: [f32; WINDOW * WINDOW],
    other: &'a [f32],
    size: (i32, i32),
    cell: [i32; 2],
    corner: (i32, i32),
    best: [i32; 2],
    cost: f32,
}

impl<'a> Cell<'a> {
    #[inline(always)]
    fn new(centre: &[f32], other: &'a [f32], size: (i32, i32), cell: [i32; 2]) -> Self {
        let corner = |v: i32| v * CELL as i32 - (WINDOW - CELL) as i32 / 2;
        let corner = (corner(cell[0]), corner(cell[1]));
        let mut copy = [0.0; WINDOW * WINDOW];
        let (from, pitch) = part::<WINDOW, _>(centre, size, corner, &mut copy);
        let mut window = [0.0; WINDOW * WINDOW];
        for (row, to) in window.chunks_exact_mut(WINDOW).enumerate() {
            to.copy_from_slice(&from[row * pitch..][..WINDOW]);
        }
        Self {
            window,
            other,
            size,
            cell,
            corner,
            best: [0; 2],
            cost: f32::MAX,
        }
    }

    #[inline(always)]
    fn take(&mut self, [vx, vy]: [i32; 2], more: f32) {
        let corner = (self.corner.0 + (vx >> 1), self.corner.1 + (vy >> 1));
        let mut copy = [0.0; WIDER * WIDER];
        let (from, pitch) = part::<WIDER, _>(self.other, self.size, corner, &mut copy);
        let sum = match (vx & 1, vy & 1) {
            (0, 0) => self.differences(from, pitch, more, |a, _, _, _| a),
            (1, 0) => self.differences(from, pitch, more, |a, b, _, _| 0.5 * (a + b)),
            (0, _) => self.differences(from, pitch, more, |a, _, c, _| 0.5 * (a + c)),
            _ => self.differences(from, pitch, more, |a, b, c, d| 0.25 * (a + b + c + d)),
        };
        if sum < self.cost {
            (self.best, self.cost) = ([vx, vy], sum);
        }
    }

    /// The sum of differences, or one that is no better than the best. Numbers are such that no order of adding rounds.
    #[inline(always)]
    fn differences(
        &self,
        from: &[f32],
        pitch: usize,
        more: f32,
        mix: impl Fn(f32, f32, f32, f32) -> f32,
    ) -> f32 {
        let mut sum = more;
        for quarter in 0..4 {
            let mut sums = [0.0f32; WINDOW];
            for row in 4 * quarter..4 * quarter + 4 {
                let here = &self.window[WINDOW * row..][..WINDOW];
                let upper = &from[row * pitch..][..WIDER];
                let lower = &from[(row + 1) * pitch..][..WIDER];
                for i in 0..WINDOW {
                    let there = mix(upper[i], upper[i + 1], lower[i], lower[i + 1]);
                    sums[i] += (here[i] - there).abs();
                }
            }
            for v in sums {
                sum += v;
            }
            if sum >= self.cost {
                break;
            }
        }
        sum
    }

    #[inline(always)]
    fn everywhere(&mut self) {
        self.take([0, 0], 0.0);
        for y in -FAR..=FAR {
            for x in -FAR..=FAR {
                self.take([2 * x, 2 * y], MARGIN);
            }
        }
    }

    #[inline(always)]
    fn around(&mut self, coarse: &View<'_>, n: usize, finest: bool) {
        let last = coarse.size();
        let found = |dx: i32, dy: i32| {
            let place = |v: i32, n: usize| v.clamp(0, n as i32 - 1) as usize;
            let x = place(self.cell[0] / 2 + dx, last.width);
            let y = place(self.cell[1] / 2 + dy, last.height);
            [coarse.row(2 * n, y)[x], coarse.row(2 * n + 1, y)[x]].map(|v| 2 * v as i32)
        };
        let first = [
            found(0, 0),
            found(-1, 0),
            found(1, 0),
            found(0, -1),
            found(0, 1),
            [0, 0],
        ];
        for (i, motion) in first.into_iter().enumerate() {
            // The same again cannot be better.
            if i == 0 || !first[..i].contains(&motion) {
                self.take(motion, if i == 0 { 0.0 } else { MARGIN });
            }
        }
        for step in if finest { [2, 1].as_slice() } else { &[2] } {
            let best = self.best;
            for y in -1..2 {
                for x in -1..2 {
                    if (x, y) != (0, 0) {
                        self.take([best[0] + step * x, best[1] + step * y], MARGIN);
                    }
                }
            }
        }
    }
}
