//! Films: frames are merged along the motion, frequency by frequency, and the remaining noise is shrunk.
//!
//! 1. Motion is found by block matching from coarse to fine: cells of 8×8 pixels, compared over 16×16, on luminance that is
//!    smoothed and rounded to integers. Sums of differences are then exact, and all devices find the same vectors.
//! 2. Blocks of 8×8 pixels that overlap by half, every second one in a checkerboard pattern, are fetched from each frame along
//!    the motion and transformed (DCT). A frame whose block differs by more than noise counts less or not at all, and so does
//!    each of its frequencies (as in Hasinoff et al., *Burst photography for high dynamic range and low-light imaging on mobile
//!    cameras*, 2016). A bit-identical block adds no information and has no weight.
//!    Where nothing moves in these frames, more of them are used, at the same place.
//! 3. Merged coefficients are shrunk where they do not exceed the remaining noise. If no frame matches, this is spatial
//!    denoising.
//! 4. The result guides a Wiener filter of the merged frame before shrinkage (`super::wiener`); the remaining noise of each
//!    block is known.
//!
//! Values are stabilised (`super::stabilise`): noise has deviation 1 and the given spectrum.

use super::wiener;
use crate::noise::SIDE;
use limpid_core::{Image, Size};
use std::f64::consts::PI;

/// Side in pixels of the cells that share a motion vector.
pub const CELL: usize = 8;
/// Side in pixels of the windows that are compared.
pub const WINDOW: usize = 16;
/// Row stride within a compared window: smoothed rows hardly differ from their neighbours.
pub const SKIP: usize = 2;
/// Levels of the image pyramid in which motion is searched.
pub const LEVELS: usize = 4;
/// Search radius at the coarsest level.
pub const FAR: i32 = 4;
/// Integer steps per deviation of the noise in the images that are compared.
pub const FINE: f32 = 16.0;
/// The largest of these integers: sums of quarters of them over a window are exact.
pub const MOST: f32 = 16_383.0;
/// By how much, over a window, a vector must be better than the predicted one.
pub const MARGIN: f32 = 128.0;
/// Distance between blocks; every second one is processed, in a checkerboard pattern.
pub const STEP: usize = 4;
/// Differences of blocks in units of the expected noise: below the first a frame counts fully, above the second not at all.
pub const BLOCK_MATCH: [f32; 2] = [1.2, 5.0];
/// The same for blocks that differ less than noise would, because the frame is a duplicate: below the first a frame does not
/// count at all.
pub const DUPLICATE: [f32; 2] = [0.02, 0.08];
/// The same for the longest waves of a block alone, its mean included: noise hides what differs there from a comparison of the
/// whole block, but merging keeps it. In a fade, blocks match where other things have the same brightness.
pub const COARSE_MATCH: [f32; 2] = [1.2, 2.4];
/// The sum of the numbers along x and y of the frequencies that are called long waves.
pub const COARSE: usize = 2;
/// How many frequencies these are.
pub const COARSE_COUNT: usize = (COARSE + 1) * (COARSE + 2) / 2;
/// Scale of a frequency's difference beyond the noise.
pub const FREQUENCY_SCALE: f32 = 8.0;
/// Coefficients below this many deviations are treated as noise.
pub const LAMBDA: f32 = 2.0;
/// Lower bound of noise powers.
pub const LEAST_POWER: f32 = 0.02;
/// Half of the synthesis window: Kaiser, β = 2.
pub const WEIGHTS: [f32; 4] = [0.438_676_3, 0.681_324_24, 0.876_839_9, 0.985_822_5];

/// Distance between blocks in the second filter.
pub const SECOND: usize = 8;

/// The parameters of the method.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Number of frames before and after that are used along the motion.
    pub radius: usize,
    /// Number of frames before and after that are used where nothing moves, at least `radius`.
    pub still: usize,
    /// For each component, the factor by which the noise is overestimated.
    pub stronger: Vec<f32>,
    /// For each component, the power of its noise at the frequencies of a block, at least `LEAST_POWER`.
    pub powers: Vec<[f32; SIDE * SIDE]>,
    /// The parameters of the second filter.
    pub second: wiener::Settings,
}

/// A merged block of a component.
struct MergedBlock {
    /// The shrunk block.
    shrunk: [f32; SIDE * SIDE],
    /// The merged block.
    merged: [f32; SIDE * SIDE],
    /// The remaining variance of the merged noise, relative to that of one frame.
    variance: f32,
    /// Its weight.
    share: f32,
}

/// Denoises one frame using the frames around it.
pub fn film(frames: &[Image], at: usize, step: &Settings) -> Image {
    let centre = &frames[at];
    let pyramids: Vec<Vec<Image>> = frames
        .iter()
        .map(|f| pyramid(f, FINE * step.stronger[0]))
        .collect();
    let first = at.saturating_sub(step.radius);
    let last = (at + step.radius).min(frames.len() - 1);
    let others: Vec<(&Image, Field)> = (first..=last)
        .filter(|i| *i != at)
        .map(|i| (&frames[i], motion(&pyramids[at], &pyramids[i])))
        .collect();
    let (width, height, planes) = (centre.width(), centre.height(), centre.channels());
    let mut sums = [(); 3].map(|()| Image::new(width, height, planes));
    let mut weight = Image::new(width, height, planes);
    let starts = |n: usize| (0..(n + STEP).div_ceil(STEP)).map(|i| (STEP * i) as i32 - STEP as i32);
    for (row, y) in starts(height).enumerate() {
        for x in starts(width).skip(row % 2).step_by(2) {
            let mut places: Vec<(&Image, [i32; 2])> = others
                .iter()
                .map(|(frame, field)| (*frame, field.of(x, y, centre.size())))
                .collect();
            if places.iter().all(|(_, vector)| *vector == [0; 2]) {
                places.extend(frames_beyond(frames, at, step).map(|frame| (frame, [0; 2])));
            }
            let made = block(centre, &places, (x, y), step);
            for (c, block) in made.into_iter().enumerate() {
                for j in 0..SIDE {
                    for i in 0..SIDE {
                        let (px, py) = (x + i as i32, y + j as i32);
                        if px < 0 || py < 0 || px >= width as i32 || py >= height as i32 {
                            continue;
                        }
                        let (px, py) = (px as usize, py as usize);
                        let w = block.share * window(i) * window(j);
                        let k = SIDE * j + i;
                        let parts = [block.shrunk[k], block.merged[k], block.variance];
                        for (sum, part) in sums.iter_mut().zip(parts) {
                            sum.set(px, py, c, sum.get(px, py, c) + w * part);
                        }
                        weight.set(px, py, c, weight.get(px, py, c) + w);
                    }
                }
            }
        }
    }
    let [shrunk, merged, variance] = sums.map(|sum| {
        Image::from_fn(width, height, planes, |x, y, c| {
            sum.get(x, y, c) / weight.get(x, y, c)
        })
    });
    wiener::wiener(&merged, &shrunk, Some(&variance), &step.second)
}

/// The frames that are used only where nothing moves.
fn frames_beyond<'a>(
    frames: &'a [Image],
    at: usize,
    step: &Settings,
) -> impl Iterator<Item = &'a Image> {
    let beyond = step.radius + 1..=step.still;
    let all = frames.iter().enumerate();
    all.filter_map(move |(i, frame)| beyond.contains(&i.abs_diff(at)).then_some(frame))
}

/// The weight of a pixel of a block along one axis.
fn window(i: usize) -> f32 {
    WEIGHTS[i.min(SIDE - 1 - i)]
}

/// The pyramid of the first plane for the motion search, finest first: smoothed, multiplied by `gain`, as integers.
pub(crate) fn pyramid(frame: &Image, gain: f32) -> Vec<Image> {
    let size = frame.size();
    let mut finest = Image::new(size.width, size.height, 1);
    let mut lines = [(); 3].map(|()| vec![0.0; size.width + 2]);
    for (y, to) in finest.plane_mut(0).chunks_exact_mut(size.width).enumerate() {
        for (line, dy) in lines.iter_mut().zip(-1..) {
            line_of(frame, (-1, y as i32 + dy), line);
        }
        for (x, to) in to.iter_mut().enumerate() {
            let sum = lines.iter().flat_map(|line| &line[x..x + 3]).sum::<f32>();
            *to = (sum / 9.0 * gain).round_ties_even().clamp(0.0, MOST);
        }
    }
    let mut levels = vec![finest];
    while levels.len() < LEVELS {
        let fine = &levels[levels.len() - 1];
        let (width, height) = (fine.width().div_ceil(2), fine.height().div_ceil(2));
        levels.push(Image::from_fn(width, height, 1, |x, y, _| {
            let at = |dx, dy| clamped(fine, 2 * x as i32 + dx, 2 * y as i32 + dy, 0);
            (0.25 * (at(0, 0) + at(1, 0) + at(0, 1) + at(1, 1))).round_ties_even()
        }));
    }
    levels
}

/// A value, clamped to the border.
fn clamped(image: &Image, x: i32, y: i32, c: usize) -> f32 {
    let (w, h) = (image.width() as i32, image.height() as i32);
    image.get(x.clamp(0, w - 1) as usize, y.clamp(0, h - 1) as usize, c)
}

/// The values of a row of the first plane from a place on, clamped to the border.
fn line_of(image: &Image, (x, y): (i32, i32), to: &mut [f32]) {
    let row = image.row(0, y.clamp(0, image.height() as i32 - 1) as usize);
    let from = x.max(0) as usize;
    if x >= 0 && from + to.len() <= row.len() {
        return to.copy_from_slice(&row[from..from + to.len()]);
    }
    for (i, to) in (0..).zip(to) {
        *to = row[(x + i).clamp(0, row.len() as i32 - 1) as usize];
    }
}

/// The motion of each cell.
pub(crate) struct Field {
    size: Size,
    vectors: Vec<[i32; 2]>,
}

impl Field {
    /// The motion of a cell, or of the nearest one inside.
    pub(crate) fn at(&self, x: i32, y: i32) -> [i32; 2] {
        let (w, h) = (self.size.width as i32, self.size.height as i32);
        self.vectors[(y.clamp(0, h - 1) * w + x.clamp(0, w - 1)) as usize]
    }

    /// The motion of the cell that contains the centre of a block.
    fn of(&self, x: i32, y: i32, size: Size) -> [i32; 2] {
        let middle = |v: i32, n: usize| (v + SIDE as i32 / 2).clamp(0, n as i32 - 1) / CELL as i32;
        self.at(middle(x, size.width), middle(y, size.height))
    }
}

/// The motion of the cells of one frame to another, in half pixels.
pub(crate) fn motion(from: &[Image], to: &[Image]) -> Field {
    let mut coarse: Option<Field> = None;
    for level in (0..LEVELS).rev() {
        let (a, b) = (&from[level], &to[level]);
        let (width, height) = (a.width().div_ceil(CELL), a.height().div_ceil(CELL));
        let mut vectors = Vec::with_capacity(width * height);
        for y in 0..height as i32 {
            for x in 0..width as i32 {
                let mut search = Search::new(a, b, x, y);
                match &coarse {
                    None => search.everywhere(),
                    Some(coarse) => search.around(coarse, level == 0),
                }
                vectors.push(search.best);
            }
        }
        let size = Size::new(width, height);
        coarse = Some(Field { size, vectors });
    }
    coarse.unwrap_or(Field {
        size: Size::new(1, 1),
        vectors: vec![[0; 2]],
    })
}

/// The search for one cell.
struct Search<'a> {
    a: &'a Image,
    b: &'a Image,
    cell: [i32; 2],
    best: [i32; 2],
    cost: f32,
}

impl<'a> Search<'a> {
    fn new(a: &'a Image, b: &'a Image, x: i32, y: i32) -> Self {
        let (best, cost, cell) = ([0; 2], f32::MAX, [x, y]);
        Self {
            a,
            b,
            cell,
            best,
            cost,
        }
    }

    /// Accepts a motion, in half pixels, if it is better; `more` is added to its cost.
    fn take(&mut self, [vx, vy]: [i32; 2], more: f32) {
        let corner = |v: i32| v * CELL as i32 - (WINDOW - CELL) as i32 / 2;
        let (x, y) = (corner(self.cell[0]), corner(self.cell[1]));
        let mut sum = more;
        // A row of the window, and two of the other frame, with a column more for half pixels.
        let (mut own, mut there) = ([0.0; WINDOW], [[0.0; WINDOW + 1]; 2]);
        for j in (0..WINDOW as i32).step_by(SKIP) {
            line_of(self.a, (x, y + j), &mut own);
            let corner = (x + (vx >> 1), y + j + (vy >> 1));
            line_of(self.b, corner, &mut there[0]);
            if vy & 1 == 1 {
                line_of(self.b, (corner.0, corner.1 + 1), &mut there[1]);
            }
            let [b, below] = &there;
            for i in 0..WINDOW {
                let there = match (vx & 1, vy & 1) {
                    (0, 0) => b[i],
                    (1, 0) => 0.5 * (b[i] + b[i + 1]),
                    (0, _) => 0.5 * (b[i] + below[i]),
                    _ => 0.25 * (b[i] + b[i + 1] + below[i] + below[i + 1]),
                };
                sum += SKIP as f32 * (own[i] - there).abs();
            }
        }
        if sum < self.cost {
            (self.best, self.cost) = ([vx, vy], sum);
        }
    }

    /// At the coarsest level: tries all motions up to the maximum length.
    fn everywhere(&mut self) {
        self.take([0, 0], 0.0);
        for y in -FAR..=FAR {
            for x in -FAR..=FAR {
                self.take([2 * x, 2 * y], MARGIN);
            }
        }
    }

    /// At finer levels: tries the motions that the coarser level found here and around, zero motion, then the pixels around the
    /// best; at the finest level also the half pixels around it.
    fn around(&mut self, coarse: &Field, finest: bool) {
        let [x, y] = self.cell.map(|v| v / 2);
        let twice = |v: [i32; 2]| v.map(|v| 2 * v);
        self.take(twice(coarse.at(x, y)), 0.0);
        for (dx, dy) in [(-1, 0), (1, 0), (0, -1), (0, 1)] {
            self.take(twice(coarse.at(x + dx, y + dy)), MARGIN);
        }
        self.take([0, 0], MARGIN);
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

/// A block of each component, denoised.
fn block(
    centre: &Image,
    others: &[(&Image, [i32; 2])],
    (x, y): (i32, i32),
    step: &Settings,
) -> Vec<MergedBlock> {
    let planes = centre.channels();
    let spectra = |image: &Image, motion| -> Vec<[f32; SIDE * SIDE]> {
        (0..planes)
            .map(|c| transformed(&fetched(image, c, (x, y), motion), false))
            .collect()
    };
    let own = spectra(centre, [0; 2]);
    let theirs: Vec<(f32, Vec<[f32; SIDE * SIDE]>)> = others
        .iter()
        .map(|(image, motion)| {
            let there = spectra(image, *motion);
            (fit(&own, &there, step), there)
        })
        .collect();
    (0..planes)
        .map(|c| {
            let (mut kept, mut merged) = ([0.0; SIDE * SIDE], [0.0; SIDE * SIDE]);
            let (mut left, mut variances) = (0.0, 0.0);
            for k in 0..SIDE * SIDE {
                let power = step.powers[c][k];
                let (mut sum, mut weights, mut squares) = (own[c][k], 1.0, 1.0);
                for (fit, there) in &theirs {
                    let difference = there[c][k] - own[c][k];
                    let weight = fit * trust(difference * difference / power);
                    sum += weight * there[c][k];
                    weights += weight;
                    squares += weight * weight;
                }
                let value = sum / weights;
                let variance = power * squares / (weights * weights);
                let share = LAMBDA * LAMBDA * variance / (value * value + 1e-12);
                // The mean of the block is unchanged.
                let factor = if k == 0 {
                    1.0
                } else {
                    (1.0 - share * share).max(0.0)
                };
                kept[k] = factor * value;
                merged[k] = value;
                left += factor * factor * variance;
                variances += variance;
            }
            MergedBlock {
                shrunk: transformed(&kept, true),
                merged: transformed(&merged, true),
                variance: variances / step.powers[c].iter().sum::<f32>(),
                share: 1.0 / (left / (SIDE * SIDE) as f32 + 1e-4),
            }
        })
        .collect()
}

/// The weight of a squared difference, relative to the power of the noise: 1 as long as noise explains it, which is 2 on
/// average.
fn trust(apart: f32) -> f32 {
    let beyond = (apart - 2.0).max(0.0) / FREQUENCY_SCALE;
    1.0 / (1.0 + beyond * beyond)
}

/// The weight of another frame's block, 0 … 1, by its difference relative to the noise.
fn fit(own: &[[f32; SIDE * SIDE]], there: &[[f32; SIDE * SIDE]], step: &Settings) -> f32 {
    let (mut differs, mut coarse) = (0.0, 0.0);
    for c in 0..own.len() {
        let (mut sum, mut long) = (0.0, 0.0);
        for k in 0..SIDE * SIDE {
            let difference = there[c][k] - own[c][k];
            let square = difference * difference / step.powers[c][k];
            sum += if k > 0 { square } else { 0.0 };
            long += if is_coarse(k) { square } else { 0.0 };
        }
        let counts = match (own.len(), c) {
            (1, _) => 1.0,
            (_, 0) => 0.5,
            _ => 0.25,
        };
        let stronger = step.stronger[c];
        differs += counts * stronger * stronger * sum / (2.0 * 63.0);
        coarse += counts * long / (2 * COARSE_COUNT) as f32;
    }
    let below =
        |value: f32, [full, none]: [f32; 2]| ((none - value) / (none - full)).clamp(0.0, 1.0);
    let again = ((differs - DUPLICATE[0]) / (DUPLICATE[1] - DUPLICATE[0])).clamp(0.0, 1.0);
    below(differs, BLOCK_MATCH) * again * below(coarse, COARSE_MATCH)
}

/// Whether a frequency is a long wave.
pub fn is_coarse(k: usize) -> bool {
    k / SIDE + k % SIDE <= COARSE
}

/// The block at a position displaced by half pixels: interpolated cubically between pixels.
pub(crate) fn fetched(
    image: &Image,
    c: usize,
    (x, y): (i32, i32),
    [vx, vy]: [i32; 2],
) -> [f32; SIDE * SIDE] {
    std::array::from_fn(|k| {
        let (i, j) = ((k % SIDE) as i32, (k / SIDE) as i32);
        let (x, y) = (x + i + (vx >> 1), y + j + (vy >> 1));
        let mut sum = 0.0;
        for (dy, wy) in taps(vy) {
            let mut row = 0.0;
            for (dx, wx) in taps(vx) {
                row += wx * clamped(image, x + dx, y + dy, c);
            }
            sum += wy * row;
        }
        sum
    })
}

/// The pixels around a position along one axis, and their weights.
fn taps(v: i32) -> Vec<(i32, f32)> {
    match v & 1 {
        0 => vec![(0, 1.0)],
        _ => vec![(-1, -0.0625), (0, 0.5625), (1, 0.5625), (2, -0.0625)],
    }
}

/// Entry `k`, `x` of the discrete cosine transform.
pub fn cosine(k: usize, x: usize) -> f32 {
    let scale = if k == 0 { 0.125f64 } else { 0.25 };
    (scale.sqrt() * (PI * (2 * x + 1) as f64 * k as f64 / (2 * SIDE) as f64).cos()) as f32
}

/// The discrete cosine transform of a block, or its inverse.
fn transformed(block: &[f32; SIDE * SIDE], back: bool) -> [f32; SIDE * SIDE] {
    let entry = |k: usize, x: usize| f64::from(if back { cosine(x, k) } else { cosine(k, x) });
    let mut rows = [0.0f64; SIDE * SIDE];
    for j in 0..SIDE {
        for k in 0..SIDE {
            rows[SIDE * j + k] = (0..SIDE)
                .map(|i| entry(k, i) * f64::from(block[SIDE * j + i]))
                .sum();
        }
    }
    std::array::from_fn(|at| {
        let (l, k) = (at / SIDE, at % SIDE);
        let sum: f64 = (0..SIDE).map(|j| entry(l, j) * rows[SIDE * j + k]).sum();
        sum as f32
    })
}
