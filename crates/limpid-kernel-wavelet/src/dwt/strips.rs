//! A scheme of Kula 2021 on the CPU: tiles of quads that stay in the cache, one matrix after the other (chapter 10).
//!
//! The samples of a tile and its halo, mirrored at the borders, are stored in four planes. A matrix computes new planes for the
//! samples that it changes, each row with one vectorised loop; the halo shrinks by its reach. Schemes differ in their
//! operations only: loads and stores are the same for all.

use super::Level;
use super::plane::{Bands, Plane, halves};
use fearless_simd::Simd;
use limpid_core::simd::dispatch;
use limpid_wavelet::{Matrix, Scheme, mirrored};
use rayon::prelude::*;
use std::ops::Range;

/// Quads of a tile along x and y: a quarter of a megabyte with eight planes.
const TILE: (usize, usize) = (128, 64);

/// Values that are accumulated at a time.
const BLOCK: usize = 32;

/// One term of a sample: the index of the input sample, and the offset of its quad.
#[derive(Debug, Clone, Copy)]
struct Term {
    sample: usize,
    at: (i32, i32),
    weight: f32,
}

/// A matrix: the samples that it changes, and its reach to the left, right, above and below.
#[derive(Debug, Clone)]
struct QuadMatrix {
    changed: Vec<(usize, Vec<Term>)>,
    reach: [usize; 4],
}

/// The matrices of a scheme.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    steps: Vec<QuadMatrix>,
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
    pub(super) fn new(level: &Level) -> Self {
        let scheme = Scheme::new(&level.lifting, level.scheme, level.direction);
        let steps: Vec<QuadMatrix> = scheme.stages.iter().flatten().map(step).collect();
        let reach = |i: usize| steps.iter().map(|s| s.reach[i]).sum();
        Self {
            margin: [0, 1, 2, 3].map(reach),
            steps,
        }
    }

    /// Words that one thread needs.
    fn words(&self) -> usize {
        let [l, r, t, b] = self.margin;
        8 * (TILE.0 + l + r) * (TILE.1 + t + b)
    }

    /// Words that this many threads need.
    pub(super) fn scratch(&self, threads: usize) -> usize {
        threads * self.words()
    }

    /// Rows of quads of each thread: whole tiles.
    fn share(rows: usize, threads: usize) -> usize {
        let tiles = rows.div_ceil(TILE.1);
        tiles.div_ceil(threads.max(1)).max(1) * TILE.1
    }

    /// The tiles of these rows of quads, of a level of this many quads.
    fn tiles(&self, rows: Range<usize>, (lw, lh): (usize, usize)) -> impl Iterator<Item = Tile> {
        let tile = move |x, y| Tile {
            from: (x, y),
            size: (TILE.0.min(lw - x), TILE.1.min(lh - y)),
            margin: self.margin,
        };
        rows.step_by(TILE.1)
            .flat_map(move |y| (0..lw).step_by(TILE.0).map(move |x| tile(x, y)))
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
        let rows = Self::share(lh, threads);
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
                    for (sample, plane) in planes.iter_mut().enumerate().take(4) {
                        load(plane, &tile, src, sample);
                    }
                    let made = self.run(simd, &tile, &mut planes);
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
                            for (to, v) in to[..width].iter_mut().zip(from) {
                                *to = soft(v * scale, limit);
                            }
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
        let rows = Self::share(lh, threads);
        let scales = level.scales().map(|s| 1.0 / s);
        let parts = out.par_chunks_mut(2 * rows * stride);
        let work = scratch.par_chunks_mut(self.words());
        parts.zip(work).enumerate().for_each(|(i, (part, work))| {
            let first = i * rows;
            for tile in self.tiles(first..(first + rows).min(lh), (lw, lh)) {
                let (x, y) = tile.from;
                let mut planes = planes(work, &tile);
                for (sample, plane) in planes.iter_mut().enumerate().take(4) {
                    gather(plane, &tile, bands, sample, scales);
                }
                let made = self.run(simd, &tile, &mut planes);
                for sample in 0..4 {
                    let (odd_x, odd_y) = (sample % 2, sample / 2);
                    for j in 0..tile.size.1 {
                        let row = 2 * (y + j) + odd_y;
                        if row >= h {
                            break;
                        }
                        let to = &mut part[(row - 2 * first) * stride..][..w];
                        let at = (j + self.margin[2]) * tile.width() + self.margin[0];
                        let from = &planes[made[sample]][at..at + tile.size.0];
                        let places = to[2 * x..].iter_mut().skip(odd_x).step_by(2);
                        for (to, v) in places.zip(from) {
                            *to = *v;
                        }
                    }
                }
            }
        });
    }

    /// Applies all matrices; returns the plane that holds each sample.
    fn run(
        &self,
        level: fearless_simd::Level,
        tile: &Tile,
        planes: &mut [&mut [f32]],
    ) -> [usize; 4] {
        let mut now = [0, 1, 2, 3];
        let mut inset = [0; 4];
        for step in &self.steps {
            for (i, r) in inset.iter_mut().zip(step.reach) {
                *i += r;
            }
            for (sample, terms) in &step.changed {
                let spare = (now[*sample] + 4) % 8;
                let out = std::mem::take(&mut planes[spare]);
                dispatch!(level, simd => sums(simd, out, tile, inset, (terms, &now, planes)));
                planes[spare] = out;
            }
            for (sample, _) in &step.changed {
                now[*sample] = (now[*sample] + 4) % 8;
            }
        }
        now
    }
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

fn step(matrix: &Matrix) -> QuadMatrix {
    let mut reach = [0usize; 4];
    let changed = (0..4).filter(|row| matrix.changes(*row)).map(|row| {
        let terms = (0..4).flat_map(|sample| {
            let all = matrix.entry(row, sample).terms();
            all.map(move |(at, weight)| Term {
                sample,
                at,
                weight: weight as f32,
            })
            .collect::<Vec<_>>()
        });
        (row, terms.collect::<Vec<_>>())
    });
    let changed: Vec<(usize, Vec<Term>)> = changed.collect();
    for Term { at: (x, y), .. } in changed.iter().flat_map(|(_, terms)| terms) {
        for (r, by) in reach.iter_mut().zip([-x, *x, -y, *y]) {
            *r = (*r).max(by.max(0) as usize);
        }
    }
    QuadMatrix { changed, reach }
}

/// The planes of a tile: four samples, double-buffered.
fn planes<'a>(work: &'a mut [f32], tile: &Tile) -> Vec<&'a mut [f32]> {
    let area = tile.width() * tile.height();
    work.chunks_exact_mut(area).take(8).collect()
}

/// Computes a sample for all quads whose inputs are still valid.
#[inline(always)]
fn sums<S: Simd>(
    _: S,
    out: &mut [f32],
    tile: &Tile,
    [l, r, t, b]: [usize; 4],
    (terms, now, planes): (&[Term], &[usize; 4], &[&mut [f32]]),
) {
    let width = tile.width();
    let last = width - r;
    for y in t..tile.height() - b {
        let mut x = l;
        while x < last {
            let count = BLOCK.min(last - x);
            let mut sum = [0.0f32; BLOCK];
            for term in terms {
                let row = (y as i64 + i64::from(term.at.1)) as usize * width;
                let from = row + (x as i64 + i64::from(term.at.0)) as usize;
                let src = &planes[now[term.sample]];
                match src.get(from..from + BLOCK) {
                    // A whole block may extend beyond its row: those values are not stored.
                    Some(block) => {
                        for (s, v) in sum.iter_mut().zip(block) {
                            *s += term.weight * v;
                        }
                    }
                    None => {
                        for (s, v) in sum.iter_mut().zip(&src[from..from + count]) {
                            *s += term.weight * v;
                        }
                    }
                }
            }
            out[y * width + x..][..count].copy_from_slice(&sum[..count]);
            x += count;
        }
    }
}

/// Soft-thresholds by a limit.
fn soft(v: f32, limit: f32) -> f32 {
    if limit == 0.0 {
        return v;
    }
    v.signum() * (v.abs() - limit).max(0.0)
}

/// Loads a sample of all quads from the image.
fn load(plane: &mut [f32], tile: &Tile, src: &Plane<'_>, sample: usize) {
    let (odd_x, odd_y) = (sample % 2, sample / 2);
    let width = tile.width();
    for (j, to) in plane.chunks_exact_mut(width).enumerate() {
        let y = tile.pixel(1, j, odd_y, src.size.height);
        let row = &src.data[y * src.stride..][..src.size.width];
        pixels(to, tile, (odd_x, src.size.width), |x| row[x]);
    }
}

/// Loads a row of samples, mirrored if the tile is at the border.
fn pixels(to: &mut [f32], tile: &Tile, (odd, n): (usize, usize), value: impl Fn(usize) -> f32) {
    let count = to.len();
    let begin = 2 * (tile.from.0 as i64 - tile.margin[0] as i64) + odd as i64;
    if begin >= 0 && begin as usize + 2 * (count - 1) < n {
        for (i, v) in to.iter_mut().enumerate() {
            *v = value(begin as usize + 2 * i);
        }
        return;
    }
    for (i, v) in to.iter_mut().enumerate() {
        *v = value(tile.pixel(0, i, odd, n));
    }
}

/// Loads a sample of all quads from the coefficients.
fn gather(plane: &mut [f32], tile: &Tile, bands: &Bands<'_>, sample: usize, scales: [f32; 3]) {
    let (odd_x, odd_y) = (sample % 2, sample / 2);
    let (w, h) = (bands.size.width, bands.size.height);
    let (lw, lh) = (halves(w).0, halves(h).0);
    let width = tile.width();
    let scale = scales[odd_x + odd_y];
    let limit = match sample {
        0 => 0.0,
        _ => bands.limits[sample - 1],
    };
    // A line of one sample has no high coefficients.
    if (odd_x == 1 && w == 1) || (odd_y == 1 && h == 1) {
        plane.fill(0.0);
        return;
    }
    for (j, to) in plane.chunks_exact_mut(width).enumerate() {
        let y = tile.pixel(1, j, odd_y, h) / 2;
        let row = match sample {
            0 => &bands.ll.data[y * bands.ll.stride..][..lw],
            _ => &bands.packed[(y + odd_y * lh) * bands.stride + odd_x * lw..],
        };
        pixels(to, tile, (odd_x, w), |x| soft(row[x / 2], limit) * scale);
    }
}
