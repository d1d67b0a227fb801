//! A scheme of Kula 2021 on the CPU: tiles of quads, stage by stage (chapter 10).
//!
//! The samples of a tile and its halo, mirrored at the borders, are in four planes. A stage computes new planes for the samples
//! that it changes; the halo shrinks by its reach. Schemes differ in their stages only: loads and stores are the same.
//!
//! Threads have tiles of their own, down which all stages move together: each follows the one before by as many rows as they
//! read and replace, so that only the last rows of a tile are kept, in the cache. Or threads share one tile and wait
//! for each other after each stage, as in the thesis.

use super::plane::{Bands, Plane, halves};
use super::stage::{LANES, Stage, stages};
use super::tile::{Rows, Tile, put, weave};
use super::{Level, StripTile};
use limpid_core::simd::dispatch;
use limpid_wavelet::Scheme;
use rayon::prelude::*;
use std::ops::Range;

/// The stages of a scheme.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    stages: Vec<Stage>,
    /// The planes of the samples before each stage, and after the last.
    planes: Vec<[usize; 4]>,
    /// Rows by which each stage, and the stores, follow the loads.
    lags: Vec<usize>,
    tile: StripTile,
    /// Halo of a tile in quads: left, right, above, below.
    margin: [usize; 4],
}

/// Planes: four samples, double-buffered.
const PLANES: usize = 8;

impl Steps {
    pub(super) fn new(level: &Level, tile: StripTile) -> Self {
        let stages = stages(&Scheme::new(&level.lifting, level.scheme, level.direction));
        let reach = |i: usize| stages.iter().map(|s| s.reach[i]).sum();
        let mut planes = vec![[0, 1, 2, 3]];
        let (mut lag, mut above, mut now) = (0, 0, planes[0]);
        let mut lags = Vec::with_capacity(stages.len() + 1);
        for stage in &stages {
            // It reads rows below, and replaces what the stage before read above.
            lag += stage.reach[3].max(above);
            lags.push(lag);
            above = stage.reach[2];
            for (plane, _) in now.iter_mut().zip(stage.changed).filter(|(_, c)| *c) {
                *plane = (*plane + PLANES / 2) % PLANES;
            }
            planes.push(now);
        }
        lags.push(lag);
        Self {
            margin: [0, 1, 2, 3].map(reach),
            stages,
            planes,
            lags,
            tile,
        }
    }

    /// Quads of a tile.
    fn quads(&self) -> (usize, usize) {
        (usize::from(self.tile.columns), usize::from(self.tile.rows))
    }

    /// Words of a row of a plane.
    fn stride(&self) -> usize {
        let [l, r, ..] = self.margin;
        (self.quads().0 + l + r).next_multiple_of(LANES) + LANES
    }

    /// Rows of a plane: those of the tile, or as many as are needed at the same time.
    fn rows(&self) -> usize {
        let [_, _, t, b] = self.margin;
        if self.tile.shared {
            return self.quads().1 + t + b;
        }
        let above = self.stages.iter().map(|s| s.reach[2]).max();
        let lag = self.lags.last();
        (lag.unwrap_or(&0) + above.unwrap_or(0) + 1).next_power_of_two()
    }

    /// Words of a tile.
    fn words(&self) -> usize {
        PLANES * self.rows() * self.stride()
    }

    /// Words that this many threads need.
    pub(super) fn scratch(&self, threads: usize) -> usize {
        match self.tile.shared {
            true => self.words(),
            false => threads * self.words(),
        }
    }

    /// Threads with tiles of their own, and threads that share a tile.
    fn threads(&self, all: usize) -> (usize, usize) {
        match self.tile.shared {
            true => (1, all),
            false => (all, 1),
        }
    }

    /// Rows of quads of each thread.
    fn share(&self, rows: usize, threads: usize) -> usize {
        rows.div_ceil(threads.max(1)).max(1)
    }

    /// The tiles of these rows of quads, of a level of this width in quads.
    fn tiles(&self, rows: Range<usize>, lw: usize) -> impl Iterator<Item = Tile> {
        let (width, height) = self.quads();
        let end = rows.end;
        let tile = move |x, y| Tile {
            from: (x, y),
            size: (width.min(lw - x), height.min(end - y)),
            margin: self.margin,
        };
        rows.step_by(height)
            .flat_map(move |y| (0..lw).step_by(width).map(move |x| tile(x, y)))
    }

    /// One forward level, into the packed image with its width; `low` is a separate output for `LL`.
    pub(super) fn forward(
        &self,
        level: &Level,
        (simd, threads): (fearless_simd::Level, usize),
        src: &Plane<'_>,
        ((packed, stride), low): ((&mut [f32], usize), Option<&mut [f32]>),
        scratch: &mut [f32],
    ) {
        let (lw, lh) = (halves(src.size.width).0, halves(src.size.height).0);
        let (hw, hh) = (src.size.width - lw, src.size.height - lh);
        let (apart, together) = self.threads(threads);
        let (top, bottom) = packed.split_at_mut(lh * stride);
        // The packed image of a deeper level is larger.
        let mut bottoms = bottom.chunks_mut(stride).take(hh);
        let mut lows = low.map(|low| low.chunks_mut(lw));
        let mut rows: Vec<Output<'_>> = Vec::with_capacity(lh);
        for top in top.chunks_mut(stride) {
            rows.push(Output {
                top,
                bottom: bottoms.next(),
                low: lows.as_mut().and_then(|lows| lows.next()),
            });
        }
        let (scales, limits) = (level.scales(), level.fixed_limits());
        let share = self.share(lh, apart);
        let work = scratch.par_chunks_mut(self.words());
        let parts = rows.par_chunks_mut(share).zip(work).enumerate();
        parts.for_each(|(i, (rows, work))| {
            let first = i * share;
            for tile in self.tiles(first..first + rows.len(), lw) {
                let x = tile.from.0;
                let load = |row: usize, to: &mut Rows<'_>| tile.load(simd, row, to, src);
                let store = |from: [&[f32]; 4], to: &mut Output<'_>| {
                    for (sample, from) in from.into_iter().enumerate() {
                        let (odd_x, odd_y) = (sample % 2, sample / 2);
                        let count = [lw, hw][odd_x].saturating_sub(x).min(tile.size.0);
                        let at = x + odd_x * lw;
                        let to = match (sample, &mut to.low, &mut to.bottom) {
                            (0, Some(low), _) => &mut low[x..x + count],
                            (0 | 1, ..) => &mut to.top[at..at + count],
                            (_, _, Some(bottom)) => &mut bottom[at..at + count],
                            // The last of an odd number of rows.
                            _ => continue,
                        };
                        let limit = if sample == 0 { 0.0 } else { limits[sample - 1] };
                        let scale = scales[odd_x + odd_y];
                        dispatch!(simd, s => put(s, to, from, scale, limit));
                    }
                };
                let rows = &mut rows[tile.from.1 - first..][..tile.size.1];
                self.run((simd, together), &tile, work, load, (rows, store));
            }
        });
    }

    /// One inverse level.
    pub(super) fn inverse(
        &self,
        level: &Level,
        (simd, threads): (fearless_simd::Level, usize),
        bands: &Bands<'_>,
        (out, stride): (&mut [f32], usize),
        scratch: &mut [f32],
    ) {
        let (w, h) = (bands.size.width, bands.size.height);
        let (lw, lh) = (halves(w).0, halves(h).0);
        let (apart, together) = self.threads(threads);
        let share = self.share(lh, apart);
        let scales = level.scales().map(|s| 1.0 / s);
        let mut rows: Vec<&mut [f32]> = out[..h * stride].chunks_mut(2 * stride).collect();
        let work = scratch.par_chunks_mut(self.words());
        let parts = rows.par_chunks_mut(share).zip(work).enumerate();
        parts.for_each(|(i, (rows, work))| {
            let first = i * share;
            for tile in self.tiles(first..first + rows.len(), lw) {
                let x = tile.from.0;
                let load = |row: usize, to: &mut Rows<'_>| {
                    tile.gather(simd, row, to, (bands, scales));
                };
                let store = |[a, b, c, d]: [&[f32]; 4], to: &mut &mut [f32]| {
                    for (to, from) in to.chunks_mut(stride).zip([[a, b], [c, d]]) {
                        let to = &mut to[2 * x..w.min(2 * (x + tile.size.0))];
                        dispatch!(simd, s => weave(s, to, from));
                    }
                };
                let rows = &mut rows[tile.from.1 - first..][..tile.size.1];
                self.run((simd, together), &tile, work, load, (rows, store));
            }
        });
    }

    /// Loads a tile, applies all stages, and stores it into rows.
    fn run<R: Send>(
        &self,
        (simd, threads): (fearless_simd::Level, usize),
        tile: &Tile,
        work: &mut [f32],
        load: impl Fn(usize, &mut Rows<'_>) + Sync,
        (rows, store): (&mut [R], impl Fn([&[f32]; 4], &mut R) + Sync),
    ) {
        let mut planes: [&mut [f32]; PLANES] = Default::default();
        let each = work.chunks_exact_mut(self.rows() * self.stride());
        for (plane, part) in planes.iter_mut().zip(each) {
            *plane = part;
        }
        if threads > 1 {
            return self.together((simd, threads), tile, &mut planes, load, (rows, store));
        }
        // Rows of tiles that are kept whole are below their number anyway.
        let (stride, kept) = (self.stride(), self.rows());
        let slot = |row: usize| row % kept * stride;
        let last = self.lags.last().copied().unwrap_or(0);
        let inside: Vec<_> = (0..self.stages.len())
            .map(|s| self.inside(s, tile))
            .collect();
        for step in 0..tile.height() + last {
            if step < tile.height() {
                let at = slot(step);
                let mut to: Rows<'_> = Default::default();
                for (to, plane) in to.iter_mut().zip(&mut planes) {
                    *to = &mut plane[at..at + stride];
                }
                load(step, &mut to);
            }
            for (s, (all, columns)) in inside.iter().enumerate() {
                let row = step.wrapping_sub(self.lags[s]);
                if all.contains(&row) {
                    self.stage((simd, s), &mut planes, columns, row, slot);
                }
            }
            let row = step.wrapping_sub(last + tile.margin[2]);
            if let Some(to) = rows.get_mut(row) {
                store(self.result(&planes, tile, slot(row + tile.margin[2])), to);
            }
        }
    }

    /// The rows and columns of a tile that a stage can compute.
    fn inside(&self, stage: usize, tile: &Tile) -> (Range<usize>, Range<usize>) {
        let done = &self.stages[..=stage];
        let [l, r, t, b] = [0, 1, 2, 3].map(|i| done.iter().map(|s| s.reach[i]).sum::<usize>());
        (t..tile.height() - b, l..tile.width() - r)
    }

    /// The samples of a row that starts here, without the halo.
    fn result<'a>(&self, planes: &'a [&mut [f32]], tile: &Tile, row: usize) -> [&'a [f32]; 4] {
        let now = self.planes.last().copied().unwrap_or_default();
        let from = row + tile.margin[0];
        now.map(|plane| &planes[plane][from..from + tile.size.0])
    }

    /// One row of a stage.
    fn stage(
        &self,
        (simd, stage): (fearless_simd::Level, usize),
        planes: &mut [&mut [f32]; PLANES],
        columns: &Range<usize>,
        row: usize,
        slot: impl Fn(usize) -> usize,
    ) {
        let (now, next) = (self.planes[stage], self.planes[stage + 1]);
        let stage = &self.stages[stage];
        let mut made: Rows<'_> = Default::default();
        for c in (0..4).filter(|c| stage.changed[*c]) {
            made[c] = std::mem::take(&mut planes[next[c]]);
        }
        let from = slot(row) + columns.start;
        let mut outs = made.each_mut().map(|plane| match plane.is_empty() {
            true => &mut [][..],
            false => &mut plane[from..],
        });
        let old = now.map(|plane| &*planes[plane]);
        let start = |by: i32| slot(row.wrapping_add_signed(by as isize));
        stage.apply(simd, old, &start, columns, &mut outs);
        for c in (0..4).filter(|c| stage.changed[*c]) {
            planes[next[c]] = std::mem::take(&mut made[c]);
        }
    }

    /// The same by several threads, which share the rows of each stage and wait for each other.
    fn together<R: Send>(
        &self,
        (simd, threads): (fearless_simd::Level, usize),
        tile: &Tile,
        planes: &mut [&mut [f32]; PLANES],
        load: impl Fn(usize, &mut Rows<'_>) + Sync,
        (rows, store): (&mut [R], impl Fn([&[f32]; 4], &mut R) + Sync),
    ) {
        let stride = self.stride();
        let share = |rows: usize| rows.div_ceil(threads).max(1);
        let part = share(tile.height());
        let [a, b, c, d, ..] = planes;
        let all = [a, b, c, d].map(|p| &mut p[..tile.height() * stride]);
        let mut parts = parted(all, part * stride);
        parts.par_iter_mut().enumerate().for_each(|(i, parts)| {
            let mut first = i * part;
            let mut left = std::mem::take(parts);
            while !left[0].is_empty() {
                let mut to = left
                    .each_mut()
                    .map(|l| l.split_off_mut(..stride).unwrap_or_default());
                load(first, &mut to);
                first += 1;
            }
        });
        for (s, stage) in self.stages.iter().enumerate() {
            let (all, columns) = self.inside(s, tile);
            let (now, next) = (self.planes[s], self.planes[s + 1]);
            let mut made: Rows<'_> = Default::default();
            for c in (0..4).filter(|c| stage.changed[*c]) {
                made[c] = std::mem::take(&mut planes[next[c]]);
            }
            let outs = made.each_mut().map(|plane| match plane.is_empty() {
                true => &mut [][..],
                false => &mut plane[all.start * stride..all.end * stride],
            });
            let old = now.map(|plane| &*planes[plane]);
            let part = share(all.len());
            parted(outs, part * stride)
                .into_par_iter()
                .enumerate()
                .for_each(|(i, mut outs)| {
                    let first = all.start + i * part;
                    for row in first..(first + part).min(all.end) {
                        let mut here = outs
                            .each_mut()
                            .map(|o| o.split_off_mut(..stride).unwrap_or_default());
                        let mut here = here
                            .each_mut()
                            .map(|h| h.get_mut(columns.start..).unwrap_or_default());
                        let start = |by: i32| row.wrapping_add_signed(by as isize) * stride;
                        stage.apply(simd, old, &start, &columns, &mut here);
                    }
                });
            for c in (0..4).filter(|c| stage.changed[*c]) {
                planes[next[c]] = std::mem::take(&mut made[c]);
            }
        }
        let part = share(rows.len());
        rows.par_chunks_mut(part).enumerate().for_each(|(i, rows)| {
            for (j, to) in rows.iter_mut().enumerate() {
                let row = i * part + j + tile.margin[2];
                store(self.result(planes, tile, row * stride), to);
            }
        });
    }
}

/// The forward output of a row of quads.
struct Output<'a> {
    /// The row of `LL` and `HL`.
    top: &'a mut [f32],
    /// The row of `LH` and `HH`.
    bottom: Option<&'a mut [f32]>,
    /// The row of `LL`, if it is stored separately.
    low: Option<&'a mut [f32]>,
}

/// Planes in parts of this many words; empty planes have empty parts.
fn parted(planes: [&mut [f32]; 4], words: usize) -> Vec<Rows<'_>> {
    let longest = planes.iter().map(|p| p.len()).max().unwrap_or(0);
    let mut left = planes;
    let mut all = Vec::new();
    for _ in 0..longest.div_ceil(words.max(1)) {
        all.push(left.each_mut().map(|l| {
            let words = words.min(l.len());
            l.split_off_mut(..words).unwrap_or_default()
        }));
    }
    all
}
