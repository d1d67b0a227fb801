//! Any lifting on the CPU, one level: blocks that stay in the second-level cache, lifted along rows, then along columns.
//!
//! Rows and columns of a block are stored with the even ones first, so that a step reads one half and changes the other. A
//! block includes a halo as wide as the reach of all steps together; where the image continues beyond the block, sums near its
//! ends are incomplete, but no stored result depends on them.

use super::forward::{OutputRows, split_out};
use super::pieces::{Span, Threading, split_rows};
use super::plane::{Bands, Plane, PlaneMut, halves};
use super::rows::{Term, add, join, load, scale, split};
use super::share;
use fearless_simd::Level;
use limpid_core::Size;
use limpid_plan::stream;
use limpid_plan::stream::STREAM_BYTES;
use limpid_wavelet::{Lifting, Taps, mirrored};

/// Row pairs of a block without its halo.
const PAIRS: usize = 64;

/// Words of a block.
const WORDS: usize = 128 << 10;

/// A lifting in `f32`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct General {
    /// Taps of each step; `true` for predict steps.
    steps: Vec<(bool, Vec<(i64, f32)>)>,
    low: f32,
    high: f32,
    /// The low-pass response to a constant: the coefficient of a line of one sample.
    gain: f32,
    /// Minimum number of row pairs, and maximum number of words of a block.
    pub(super) block: (usize, usize),
}

impl General {
    pub(super) fn new(lifting: &Lifting, (low, high): (f64, f64)) -> Self {
        let taps = |t: &Taps| t.iter().map(|(k, v)| (i64::from(k), v as f32)).collect();
        let steps = lifting
            .pairs
            .iter()
            .flat_map(|p| [(true, taps(&p.predict)), (false, taps(&p.update))]);
        let gain: f64 = lifting.analysis().0.values.iter().sum();
        Self {
            steps: steps.collect(),
            low: (lifting.low_scale * low) as f32,
            high: (lifting.high_scale * high) as f32,
            gain: (gain * low) as f32,
            block: (PAIRS, WORDS),
        }
    }

    /// Words of scratch for a level on this many threads.
    pub(super) fn scratch_words(&self, width: usize, threads: usize) -> usize {
        let (pairs, columns) = self.kept(width);
        let around = 2 * self.reach() + self.steps.len();
        threads.max(1) * 4 * (pairs + around) * (columns + around)
    }

    /// Row pairs and low columns of a block without its halo.
    fn kept(&self, width: usize) -> (usize, usize) {
        let around = 2 * self.reach();
        let pairs = self.block.0.max(around);
        let columns = (self.block.1 / (4 * (pairs + around))).saturating_sub(around);
        (pairs, columns.max(16).min(halves(width).0))
    }

    /// Reach of all steps together to either side, in pairs.
    fn reach(&self) -> usize {
        let far = |taps: &[(i64, f32)]| taps.iter().map(|t| t.0.unsigned_abs()).max();
        let steps = self.steps.iter().filter_map(|(_, taps)| far(taps));
        steps.sum::<u64>() as usize
    }

    fn scale(&self, n: usize, low: bool) -> f32 {
        match (low, n) {
            (true, 1) => self.gain,
            (true, _) => self.low,
            (false, _) => self.high,
        }
    }

    /// The steps for a line of `n` samples, forward or inverse.
    fn order(&self, n: usize, back: bool) -> Vec<Step> {
        let sign = if back { -1.0 } else { 1.0 };
        let step = |(predict, taps): &(bool, Vec<(i64, f32)>)| Step {
            predict: *predict,
            taps: taps.iter().map(|(k, t)| (*k, sign * t)).collect(),
        };
        let mut steps: Vec<Step> = self.steps.iter().map(step).collect();
        if back {
            steps.reverse();
        }
        if n == 1 {
            steps.clear();
        }
        steps
    }

    /// Calls `body` for each block of a band of row pairs.
    fn blocks(&self, band: &Span, size: Size, mut body: impl FnMut(Block)) {
        let Size { width, height } = size;
        let (pairs, columns) = self.kept(width);
        let parts = |all: Span, by: usize| {
            let end = all.end;
            all.step_by(by).map(move |i| i..(i + by).min(end))
        };
        for rows in parts(band.clone(), pairs) {
            for columns in parts(0..halves(width).0, columns) {
                body(Block {
                    down: self.around(&rows, height),
                    along: self.around(&columns, width),
                    rows: rows.clone(),
                    columns,
                });
            }
        }
    }

    /// Pairs of a line that a block needs, including the halo.
    fn around(&self, kept: &Span, n: usize) -> QuadPass {
        let reach = self.reach();
        let (low, high) = halves(n);
        // Mirrored at the end, the partner of a pair may be one position further away.
        let before = reach + if kept.end == low { self.steps.len() } else { 0 };
        let start = kept.start.saturating_sub(before);
        let end = (kept.end + reach).min(low);
        QuadPass {
            start,
            even: end - start,
            odd: end.min(high).max(start) - start,
            n,
        }
    }

    /// One forward level; `limits` are the soft thresholds of the detail bands.
    pub(super) fn forward(
        &self,
        (layout, limits): (&Threading, [f32; 3]),
        src: &Plane<'_>,
        packed: (&mut [f32], usize),
        apart: Option<&mut [f32]>,
        work: &mut [f32],
    ) {
        let (w, h) = (src.size.width, src.size.height);
        let past_cache = size_of_val(&*packed.0) > STREAM_BYTES;
        let apart = apart.map(|data| (data, halves(w).0));
        let bands = split_out(packed, src.size, apart, layout.threads);
        let (level, across, down) = (layout.level, self.order(w, false), self.order(h, false));
        share::run(bands, work, layout.threads, |(band, mut out), work, _| {
            (out.past_cache, out.limits) = (past_cache, limits);
            self.blocks(&band, src.size, |block| {
                let (work, width) = block.cut(work);
                for (i, row) in work.chunks_exact_mut(width).enumerate() {
                    let from = [i, i + 1]
                        .map(|i| &src.row(block.down.natural(i))[2 * block.along.start..]);
                    let (even, odd) = row.split_at_mut(block.along.even);
                    split(level, from, even, odd);
                    lift_row(level, row, &block.along, &across);
                }
                lift_columns(level, work, &block.down, &down);
                for low in [true, false] {
                    self.write(level, &block, low, work, (band.start, &mut out));
                }
            });
            stream::fence();
        });
    }

    /// Writes the low or high rows of a block.
    fn write(
        &self,
        level: Level,
        block: &Block,
        low: bool,
        work: &mut [f32],
        (first, out): (usize, &mut OutputRows<'_>),
    ) {
        let (w, h) = (block.along.n, block.down.n);
        let ((lw, hw), (_, hh)) = (halves(w), halves(h));
        let (rows, columns) = (&block.rows, &block.columns);
        let right = lw + columns.start..lw + columns.end.min(hw).max(columns.start);
        let (end, limits) = if low {
            (rows.end, [0.0, out.limits[0]])
        } else {
            (rows.end.min(hh), [out.limits[1], out.limits[2]])
        };
        let scales = [true, false].map(|l| self.scale(h, low) * self.scale(w, l));
        for m in rows.start..end {
            let [even, odd] = block.halves(work, m, low);
            let odd = &mut odd[..right.len()];
            scale(level, even, scales[0], limits[0]);
            scale(level, odd, scales[1], limits[1]);
            let plane = if low { &mut out.top } else { &mut out.bottom };
            let ([left, to], _) = plane.parts(m - first, columns, &right);
            stream::copy(odd, to, out.past_cache);
            match &mut out.ll {
                Some(ll) if low => {
                    let ([to, _], _) = ll.parts(m - first, columns, &(columns.end..columns.end));
                    stream::copy(even, to, false);
                }
                _ => stream::copy(even, left, out.past_cache),
            }
        }
    }

    /// One inverse level.
    pub(super) fn inverse(
        &self,
        layout: &Threading,
        bands: &Bands<'_>,
        (out, stride): (&mut [f32], usize),
        work: &mut [f32],
    ) {
        let (w, h) = (bands.size.width, bands.size.height);
        let past_cache = 4 * bands.size.pixels() > STREAM_BYTES;
        let parts = split_rows(out, stride, bands.size, layout.threads);
        let (level, across, down) = (layout.level, self.order(w, true), self.order(h, true));
        share::run(parts, work, layout.threads, |(band, mut out), work, _| {
            self.blocks(&band, bands.size, |block| {
                let (work, _) = block.cut(work);
                self.read(level, &block, bands, work);
                lift_columns(level, work, &block.down, &down);
                for m in block.rows.clone() {
                    for low in [true, false] {
                        let y = 2 * m + usize::from(!low);
                        if y < h {
                            let row = block.row(work, m, low);
                            lift_row(level, row, &block.along, &across);
                            let to = (&mut out, y - 2 * band.start, past_cache);
                            block.write_pixels(level, work, (m, low), to);
                        }
                    }
                }
            });
            stream::fence();
        });
    }

    /// Reads a block of coefficients.
    fn read(&self, level: Level, block: &Block, bands: &Bands<'_>, work: &mut [f32]) {
        let (along, down) = (&block.along, &block.down);
        let [hl, lh, hh] = bands.limits;
        let width = along.even + along.odd;
        for (i, row) in work.chunks_exact_mut(width).enumerate() {
            let low = i < down.even;
            let limits = if low { [0.0, hl] } else { [lh, hh] };
            let [now, next] = [i, i + 1].map(|i| match i < down.even {
                true => bands.low((down.start + i) as i64),
                false => (bands.high((down.start + i - down.even) as i64)).unwrap_or_default(),
            });
            let scales = [true, false].map(|l| self.scale(down.n, low) * self.scale(along.n, l));
            let halves = row.split_at_mut(along.even);
            for (half, to) in [halves.0, halves.1].into_iter().enumerate() {
                let from = [now[half], next[half]].map(|r| &r[along.start.min(r.len())..]);
                load(level, from, to, 1.0 / scales[half], limits[half]);
            }
        }
    }
}

/// A step with the sign for its direction.
struct Step {
    predict: bool,
    taps: Vec<(i64, f32)>,
}

/// Lifts a row of a block.
fn lift_row(level: Level, row: &mut [f32], part: &QuadPass, steps: &[Step]) {
    let (even, odd) = row.split_at_mut(part.even);
    for Step { predict, taps } in steps {
        let (to, from) = if *predict {
            (&mut *odd, &*even)
        } else {
            (&mut *even, &*odd)
        };
        let places = || taps.iter().map(|t| t.0);
        let (first, last) = (places().min().unwrap_or(0), places().max().unwrap_or(0));
        // Vectorised where all taps are inside; near the ends scalar, with mirroring.
        let start = (-first).clamp(0, to.len() as i64) as usize;
        let end = (from.len() as i64 - last).clamp(start as i64, to.len() as i64) as usize;
        if start < end {
            for taps in taps.chunks(4) {
                let mut terms: [Term<'_>; 4] = [(&[], 0.0); 4];
                for (term, (k, t)) in terms.iter_mut().zip(taps) {
                    let at = (start as i64 + k) as usize;
                    *term = (&from[at..at + end - start], *t);
                }
                add(level, &mut to[start..end], &terms[..taps.len()]);
            }
        }
        // Where the image continues beyond the block, no stored result depends on the last values.
        let (head, tail) = part.ends();
        let (head, tail) = (
            if head { start } else { 0 },
            if tail { end } else { to.len() },
        );
        for i in (0..head).chain(tail..to.len()) {
            for (k, t) in taps {
                if let Some(j) = part.source(i, *k, *predict) {
                    to[i] += t * from[j];
                }
            }
        }
    }
}

/// Lifts the columns of a block.
fn lift_columns(level: Level, rows: &mut [f32], part: &QuadPass, steps: &[Step]) {
    let width = rows.len() / (part.even + part.odd).max(1);
    let (even, odd) = rows.split_at_mut(part.even * width);
    for Step { predict, taps } in steps {
        let (to, from) = if *predict {
            (&mut *odd, &*even)
        } else {
            (&mut *even, &*odd)
        };
        for (i, row) in to.chunks_exact_mut(width).enumerate() {
            for taps in taps.chunks(4) {
                let mut terms: [Term<'_>; 4] = [(&[], 0.0); 4];
                let mut count = 0;
                for (k, t) in taps {
                    if let Some(j) = part.source(i, *k, *predict) {
                        terms[count] = (&from[j * width..(j + 1) * width], *t);
                        count += 1;
                    }
                }
                add(level, row, &terms[..count]);
            }
        }
    }
}

/// Row pairs and low columns of a block, without and with the halo.
struct Block {
    rows: Span,
    columns: Span,
    down: QuadPass,
    along: QuadPass,
}

impl Block {
    /// The memory of the block, and the length of its rows.
    fn cut<'a>(&self, work: &'a mut [f32]) -> (&'a mut [f32], usize) {
        let width = self.along.even + self.along.odd;
        (&mut work[..width * (self.down.even + self.down.odd)], width)
    }

    /// The low or high row of row pair `m`.
    fn row<'a>(&self, work: &'a mut [f32], m: usize, low: bool) -> &'a mut [f32] {
        let width = self.along.even + self.along.odd;
        let at = m - self.down.start + if low { 0 } else { self.down.even };
        &mut work[at * width..(at + 1) * width]
    }

    /// The inner part of its even columns, and its odd columns from the inner part on.
    fn halves<'a>(&self, work: &'a mut [f32], m: usize, low: bool) -> [&'a mut [f32]; 2] {
        let (even, odd) = self.row(work, m, low).split_at_mut(self.along.even);
        let first = self.columns.start - self.along.start;
        let odd = &mut odd[first.min(self.along.odd)..];
        [&mut even[first..][..self.columns.len()], odd]
    }

    /// Writes the pixels of an even (`low`) or odd row of row pair `m` to row `y`.
    fn write_pixels(
        &self,
        level: Level,
        work: &mut [f32],
        (m, low): (usize, bool),
        (out, y, past_cache): (&mut PlaneMut<'_>, usize, bool),
    ) {
        let pixels = 2 * self.columns.start..(2 * self.columns.end).min(self.along.n);
        let [even, odd] = self.halves(work, m, low);
        let odd = &odd[..pixels.len() / 2];
        let ([to, _], _) = out.parts(y, &pixels, &(pixels.end..pixels.end));
        if !past_cache {
            return join(level, even, odd, to);
        }
        // One piece at a time, which stays in the first-level cache.
        let mut line = [0.0; 512];
        for i in (0..even.len()).step_by(256) {
            let end = (i + 256).min(even.len());
            let to = &mut to[2 * i..(2 * end).min(pixels.len())];
            let line = &mut line[..to.len()];
            join(level, &even[i..end], &odd[i..end.min(odd.len())], line);
            stream::copy(line, to, true);
        }
    }
}

/// The range of a line that a block covers.
struct QuadPass {
    /// The first pair.
    start: usize,
    even: usize,
    odd: usize,
    /// Samples of the whole line.
    n: usize,
}

impl QuadPass {
    /// Index of the value that a step reads `k` pairs beside value `i`; `None` beyond the block.
    fn source(&self, i: usize, k: i64, predict: bool) -> Option<usize> {
        let (parity, count) = if predict {
            (0, self.even)
        } else {
            (1, self.odd)
        };
        let sample = 2 * ((self.start + i) as i64 + k) + parity;
        let at = (mirrored(sample, self.n) / 2).checked_sub(self.start)?;
        (at < count).then_some(at)
    }

    /// Whether the range includes the beginning and the end of the line.
    fn ends(&self) -> (bool, bool) {
        (self.start == 0, self.start + self.even == halves(self.n).0)
    }

    /// The position in the image of row `i` of the even and odd rows.
    fn natural(&self, i: usize) -> i64 {
        let row = if i < self.even {
            2 * (self.start + i)
        } else {
            2 * (self.start + i - self.even) + 1
        };
        row as i64
    }
}
