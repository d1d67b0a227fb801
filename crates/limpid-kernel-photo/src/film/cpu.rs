//! The small CPU bodies, and their shared code.

use super::{Halve, Reel, Search};
use limpid_core::simd::dispatch;
use limpid_plan::{Job, View};
use limpid_reference::definition::film::MOST;

/// The positions of frames in the ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    runs: i64,
    frames: i64,
}

impl Clock {
    pub(crate) fn of(view: &View<'_>) -> Self {
        let row = view.row(0, 0);
        Self {
            runs: row[0] as i64,
            frames: row[1] as i64,
        }
    }

    /// The position of this run's new frame, if there is one.
    pub(super) fn newest(self, reel: Reel) -> Option<usize> {
        let there = self.frames == self.runs;
        there.then(|| self.place(reel, reel.ahead as i64).unwrap_or(0))
    }

    /// The position of the output frame.
    pub(crate) fn centre(self, reel: Reel) -> usize {
        (self.runs - 1 - reel.ahead as i64).rem_euclid(reel.places() as i64) as usize
    }

    /// The position of the frame at this distance from the output frame; `None` beyond the ends of the film.
    pub(crate) fn place(self, reel: Reel, away: i64) -> Option<usize> {
        let frame = self.runs - 1 - reel.ahead as i64 + away;
        let there = (0..self.frames).contains(&frame) && away <= reel.ahead as i64;
        there.then(|| frame.rem_euclid(reel.places() as i64) as usize)
    }

    /// The positions of the frames around the output frame, in order; `None` beyond the ends of the film.
    pub(super) fn around(self, reel: Reel, radius: usize) -> impl Iterator<Item = Option<usize>> {
        let radius = radius as i64;
        let away = (-radius..=radius).filter(|o| *o != 0);
        away.map(move |o| self.place(reel, o))
    }

    /// The positions of the frames beyond these, in order.
    pub(super) fn beyond(self, reel: Reel, radius: usize) -> impl Iterator<Item = usize> {
        let (radius, most) = (radius as i64, reel.radius as i64);
        let away = (-most..=most).filter(move |o| o.abs() > radius);
        away.filter_map(move |o| self.place(reel, o))
    }
}

pub(super) fn search(kernel: &Search, job: &mut Job<'_>) {
    if let Some(place) = Clock::of(&job.reads[1]).newest(kernel.reel) {
        let level = job.level;
        dispatch!(level, _simd => smooth(kernel.gain, place, job));
    }
}

#[inline(always)]
fn smooth(gain: f32, place: usize, job: &mut Job<'_>) {
    let frame = job.reads[0].clone();
    let size = frame.size();
    for y in job.rows.clone() {
        let rows = [y.saturating_sub(1), y, (y + 1).min(size.height - 1)].map(|y| frame.row(0, y));
        let to = job.writes[0].row(place, y);
        let last = size.width - 1;
        let value = |l: usize, x: usize, r: usize| {
            let mut sum = 0.0;
            for row in rows {
                sum += row[l];
                sum += row[x];
                sum += row[r];
            }
            rounded(sum, gain)
        };
        to[0] = value(0, 0, 1.min(last));
        to[last] = value(last.saturating_sub(1), last, last);
        if last < 2 {
            continue;
        }
        // Slices of equal length, so that the loop has no bounds checks and is vectorised.
        let inner = last - 1;
        let to = &mut to[1..=inner];
        let [a, b, c] = rows.map(|row| (&row[..inner], &row[1..=inner], &row[2..inner + 2]));
        for x in 0..inner {
            let sum =
                a.0[x] + a.1[x] + a.2[x] + b.0[x] + b.1[x] + b.2[x] + c.0[x] + c.1[x] + c.2[x];
            to[x] = rounded(sum, gain);
        }
    }
}

#[inline(always)]
fn rounded(sum: f32, gain: f32) -> f32 {
    (sum / 9.0 * gain).round_ties_even().clamp(0.0, MOST)
}

pub(super) fn halve(kernel: &Halve, job: &mut Job<'_>) {
    let Some(place) = Clock::of(&job.reads[1]).newest(kernel.reel) else {
        return;
    };
    let fine = job.reads[0].clone();
    let size = fine.size();
    for y in job.rows.clone() {
        let rows = [2 * y, (2 * y + 1).min(size.height - 1)].map(|y| fine.row(place, y));
        for (x, to) in job.writes[0].row(place, y).iter_mut().enumerate() {
            let (l, r) = (2 * x, (2 * x + 1).min(size.width - 1));
            let sum = rows[0][l] + rows[0][r] + rows[1][l] + rows[1][r];
            *to = (0.25 * sum).round_ties_even();
        }
    }
}
