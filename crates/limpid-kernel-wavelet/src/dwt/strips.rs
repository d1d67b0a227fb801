//! A scheme of Kula 2021 on the CPU: tiles of quads, one stage after the other (chapter 10).
//!
//! The samples of a tile and its halo, mirrored at the borders, are stored in four planes. A stage computes new planes for the
//! samples that it changes; the halo shrinks by its reach. Threads have tiles of their own that stay in the cache, or share
//! one tile and wait for each other after each stage. Schemes differ in their stages only: loads and stores are the same.

use super::plane::{Bands, Plane, halves};
use super::stage::{BLOCK, Stage, stages};
use super::{Level, StripTile};
use fearless_simd::Simd;
use limpid_core::simd::dispatch;
use limpid_wavelet::{Scheme, mirrored};
use rayon::prelude::*;
use std::ops::Range;

/// The stages of a scheme.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    stages: Vec<Stage>,
    tile: StripTile,
    /// Halo of a tile in quads: left, right, above, below.
    margin: [usize; 4],
}

/// A tile with its halo, in quads.
#[derive(Clone, Copy)]
struct Tile {
    /// Its first quad, and its size.
    from: (usize, usize),
    size: (usize, usize),
    margin: [usize; 4],
}

impl Tile {
    fn width(&self) -> usize {
        self.size.0 + self.margin[0] + self.margin[1]
    }

    fn height(&self) -> usize {
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
}

impl Steps {
    pub(super) fn new(level: &Level, tile: StripTile) -> Self {
        let stages = stages(&Scheme::new(&level.lifting, level.scheme, level.direction));
        let reach = |i: usize| stages.iter().map(|s| s.reach[i]).sum();
        Self {
            margin: [0, 1, 2, 3].map(reach),
            stages,
            tile,
        }
    }

    /// Quads of a tile.
    fn quads(&self) -> (usize, usize) {
        (usize::from(self.tile.columns), usize::from(self.tile.rows))
    }

    /// Words of a tile.
    fn words(&self) -> usize {
        let ([l, r, t, b], (w, h)) = (self.margin, self.quads());
        8 * plane_words((w + l + r) * (h + t + b))
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

    /// Rows of quads of each thread: whole tiles.
    fn share(&self, rows: usize, threads: usize) -> usize {
        let height = self.quads().1;
        let tiles = rows.div_ceil(height);
        tiles.div_ceil(threads.max(1)).max(1) * height
    }

    /// The tiles of these rows of quads, of a level of this many quads.
    fn tiles(&self, rows: Range<usize>, (lw, lh): (usize, usize)) -> impl Iterator<Item = Tile> {
        let (width, height) = self.quads();
        let tile = move |x, y| Tile {
            from: (x, y),
            size: (width.min(lw - x), height.min(lh - y)),
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
        let rows = self.share(lh, apart);
        let (top, bottom) = packed.split_at_mut(lh * stride);
        let mut none = Vec::new();
        // Threads without rows of `low` get an empty slice each.
        let (low_rows, own) = match low {
            Some(low) => (low, true),
            None => (&mut none[..], false),
        };
        let mut parts: Vec<Output<'_>> = Vec::with_capacity(threads);
        let mut bottoms = bottom.chunks_mut(rows * stride);
        let mut lows = low_rows.chunks_mut(rows * lw);
        for top in top.chunks_mut(rows * stride) {
            parts.push(Output {
                top,
                bottom: bottoms.next().unwrap_or_default(),
                low: lows.next().filter(|_| own),
            });
        }
        let scales = level.scales();
        let limits = level.fixed_limits();
        let work = scratch.par_chunks_mut(self.words());
        parts
            .par_iter_mut()
            .zip(work)
            .enumerate()
            .for_each(|(i, (part, work))| {
                let first = i * rows;
                for tile in self.tiles(first..(first + rows).min(lh), (lw, lh)) {
                    let (x, y) = tile.from;
                    let mut planes = planes(work, &tile);
                    load((simd, together), &mut planes, &tile, src);
                    let made = self.run((simd, together), &tile, &mut planes);
                    for sample in 0..4 {
                        let (odd_x, odd_y) = (sample % 2 == 1, sample / 2 == 1);
                        let width = tile
                            .size
                            .0
                            .min((if odd_x { hw } else { lw }).saturating_sub(x));
                        let scale = scales[usize::from(odd_x) + usize::from(odd_y)];
                        let limit = match sample {
                            0 => 0.0,
                            _ => limits[sample - 1],
                        };
                        for j in 0..tile.size.1 {
                            if odd_y && y + j >= hh {
                                break;
                            }
                            let row = y + j - first;
                            let to = match (sample, &mut part.low) {
                                (0, Some(low)) => &mut low[row * lw + x..],
                                (0 | 1, _) => {
                                    &mut part.top[row * stride + x + usize::from(odd_x) * lw..]
                                }
                                _ => &mut part.bottom[row * stride + x + usize::from(odd_x) * lw..],
                            };
                            let at = (j + self.margin[2]) * tile.width() + self.margin[0];
                            let from = &planes[made[sample]][at..at + width];
                            dispatch!(simd, s => put(s, &mut to[..width], from, scale, limit));
                        }
                    }
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
        let rows = self.share(lh, apart);
        let scales = level.scales().map(|s| 1.0 / s);
        let parts = out.par_chunks_mut(2 * rows * stride);
        let work = scratch.par_chunks_mut(self.words());
        parts.zip(work).enumerate().for_each(|(i, (part, work))| {
            let first = i * rows;
            for tile in self.tiles(first..(first + rows).min(lh), (lw, lh)) {
                let (x, y) = tile.from;
                let mut planes = planes(work, &tile);
                gather((simd, together), &mut planes, &tile, bands, scales);
                let made = self.run((simd, together), &tile, &mut planes);
                for j in 0..tile.size.1 {
                    for odd_y in 0..2 {
                        let row = 2 * (y + j) + odd_y;
                        if row >= h {
                            break;
                        }
                        let to = &mut part[(row - 2 * first) * stride..][..w];
                        let to = &mut to[2 * x..w.min(2 * (x + tile.size.0))];
                        let at = (j + self.margin[2]) * tile.width() + self.margin[0];
                        let from = [2 * odd_y, 2 * odd_y + 1]
                            .map(|sample| &planes[made[sample]][at..at + tile.size.0]);
                        dispatch!(simd, s => weave(s, to, from));
                    }
                }
            }
        });
    }

    /// Applies all stages; returns the plane that holds each sample. Threads that share the tile wait after each stage.
    fn run(
        &self,
        (level, threads): (fearless_simd::Level, usize),
        tile: &Tile,
        planes: &mut [&mut [f32]],
    ) -> [usize; 4] {
        let mut now = [0, 1, 2, 3];
        let mut inset = [0; 4];
        let width = tile.width();
        for stage in &self.stages {
            for (i, r) in inset.iter_mut().zip(stage.reach) {
                *i += r;
            }
            let [l, r, t, b] = inset;
            let (rows, columns) = (t..tile.height() - b, l..width - r);
            let changed: Vec<usize> = stage.changed().collect();
            let mut outs: Vec<&mut [f32]> = Vec::with_capacity(4);
            for c in &changed {
                outs.push(std::mem::take(&mut planes[(now[*c] + 4) % 8]));
            }
            let old = now.map(|plane| &*planes[plane]);
            if threads == 1 {
                let mut below: Vec<&mut [f32]> =
                    outs.iter_mut().map(|o| &mut o[t * width..]).collect();
                let part = (width, rows, columns);
                dispatch!(level, simd => stage.apply(simd, old, &mut below, part));
            } else {
                let share = rows.len().div_ceil(threads).max(1);
                let mut parts: Vec<Vec<&mut [f32]>> = Vec::new();
                for out in &mut outs {
                    let all = &mut out[t * width..(t + rows.len()) * width];
                    for (i, part) in all.chunks_mut(share * width).enumerate() {
                        match parts.get_mut(i) {
                            Some(parts) => parts.push(part),
                            None => parts.push(vec![part]),
                        }
                    }
                }
                parts.par_iter_mut().enumerate().for_each(|(i, outs)| {
                    let first = t + i * share;
                    let own = first..(first + share).min(rows.end);
                    let part = (width, own, columns.clone());
                    dispatch!(level, simd => stage.apply(simd, old, outs, part));
                });
            }
            for (c, out) in changed.into_iter().zip(outs) {
                now[c] = (now[c] + 4) % 8;
                planes[now[c]] = out;
            }
        }
        now
    }
}

/// Words of a plane of this many quads.
fn plane_words(area: usize) -> usize {
    area + BLOCK
}

/// The forward output of a thread.
struct Output<'a> {
    /// Rows of `LL` and `HL`.
    top: &'a mut [f32],
    /// Rows of `LH` and `HH`.
    bottom: &'a mut [f32],
    /// Rows of `LL`, if they are stored separately.
    low: Option<&'a mut [f32]>,
}

/// The planes of a tile: four samples, double-buffered.
fn planes<'a>(work: &'a mut [f32], tile: &Tile) -> Vec<&'a mut [f32]> {
    let words = plane_words(tile.width() * tile.height());
    work.chunks_exact_mut(words).take(8).collect()
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
fn put<S: Simd>(_: S, to: &mut [f32], from: &[f32], scale: f32, limit: f32) {
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
fn weave<S: Simd>(_: S, to: &mut [f32], [even, odd]: [&[f32]; 2]) {
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

/// The rows of the first four planes of a tile in as many parts as there are threads: for each, its first row, and rows of
/// pairs of planes, even and odd samples of even rows, then of odd rows.
fn parted<'a>(
    planes: &'a mut [&mut [f32]],
    tile: &Tile,
    threads: usize,
) -> Vec<(usize, [&'a mut [f32]; 4])> {
    let (width, height) = (tile.width(), tile.height());
    let share = height.div_ceil(threads.max(1)).max(1);
    let mut each = planes
        .iter_mut()
        .take(4)
        .map(|p| p[..width * height].chunks_mut(share * width));
    let mut all = Vec::new();
    if let (Some(mut a), Some(mut b), Some(mut c), Some(mut d)) =
        (each.next(), each.next(), each.next(), each.next())
    {
        while let (Some(a), Some(b), Some(c), Some(d)) = (a.next(), b.next(), c.next(), d.next()) {
            all.push((all.len() * share, [a, b, c, d]));
        }
    }
    all
}

/// Runs work on the parts of a tile, by several threads if there are several parts.
fn each_part(
    mut parts: Vec<(usize, [&mut [f32]; 4])>,
    work: impl Fn(usize, &mut [&mut [f32]; 4]) + Sync,
) {
    match &mut parts[..] {
        [(first, part)] => work(*first, part),
        parts => parts
            .par_iter_mut()
            .for_each(|(first, part)| work(*first, part)),
    }
}

/// Loads all samples of all quads from the image.
fn load(
    (simd, threads): (fearless_simd::Level, usize),
    planes: &mut [&mut [f32]],
    tile: &Tile,
    src: &Plane<'_>,
) {
    let (width, n) = (tile.width(), src.size.width);
    let begin = 2 * (tile.from.0 as i64 - tile.margin[0] as i64);
    let inside = begin >= 0 && begin as usize + 2 * width <= n;
    each_part(parted(planes, tile, threads), |first, [a, b, c, d]| {
        for (odd_y, even, odd) in [(0, a, b), (1, c, d)] {
            let rows = even
                .chunks_exact_mut(width)
                .zip(odd.chunks_exact_mut(width));
            for (j, (even, odd)) in rows.enumerate() {
                let y = tile.pixel(1, first + j, odd_y, src.size.height);
                let row = &src.data[y * src.stride..][..n];
                if inside {
                    let row = &row[begin as usize..begin as usize + 2 * width];
                    dispatch!(simd, s => split(s, row, even, odd));
                } else {
                    for (i, (a, b)) in even.iter_mut().zip(odd).enumerate() {
                        *a = row[tile.pixel(0, i, 0, n)];
                        *b = row[tile.pixel(0, i, 1, n)];
                    }
                }
            }
        }
    });
}

/// Loads all samples of all quads from the coefficients.
fn gather(
    (simd, threads): (fearless_simd::Level, usize),
    planes: &mut [&mut [f32]],
    tile: &Tile,
    bands: &Bands<'_>,
    scales: [f32; 3],
) {
    let (w, h) = (bands.size.width, bands.size.height);
    let (lw, lh) = (halves(w).0, halves(h).0);
    let width = tile.width();
    let from = tile.from.0 as i64 - tile.margin[0] as i64;
    each_part(parted(planes, tile, threads), |first, part| {
        for (sample, plane) in part.iter_mut().enumerate() {
            let (odd_x, odd_y) = (sample % 2, sample / 2);
            let scale = scales[odd_x + odd_y];
            let limit = match sample {
                0 => 0.0,
                _ => bands.limits[sample - 1],
            };
            // A line of one sample has no high coefficients.
            if (odd_x == 1 && w == 1) || (odd_y == 1 && h == 1) {
                plane.fill(0.0);
                continue;
            }
            let count = if odd_x == 1 { w - lw } else { lw };
            let inside = from >= 0 && from as usize + width <= count;
            for (j, to) in plane.chunks_exact_mut(width).enumerate() {
                let y = tile.pixel(1, first + j, odd_y, h) / 2;
                let row = match sample {
                    0 => &bands.ll.data[y * bands.ll.stride..][..lw],
                    _ => &bands.packed[(y + odd_y * lh) * bands.stride + odd_x * lw..][..count],
                };
                if inside {
                    let row = &row[from as usize..from as usize + width];
                    if limit == 0.0 {
                        dispatch!(simd, s => put(s, to, row, scale, 0.0));
                    } else {
                        for (to, v) in to.iter_mut().zip(row) {
                            *to = soft(*v, limit) * scale;
                        }
                    }
                } else {
                    for (i, to) in to.iter_mut().enumerate() {
                        *to = soft(row[tile.pixel(0, i, odd_x, w) / 2], limit) * scale;
                    }
                }
            }
        }
    });
}
