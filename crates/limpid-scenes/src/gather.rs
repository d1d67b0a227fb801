//! Means, halves and variances of samples.
//!
//! Samples with even numbers make half A, those with odd numbers half B. Within a batch sums are kept in `f64`; batches are
//! merged in `f32` (Chan 1979), which is also what a render that is put aside leaves on disk.

use crate::gradient::Direction;
use crate::render::RenderOptions;
use limpid::{Error, Frame, Image, Kind, Layer, Part, Result, Size};

/// Channels of colour and features, in the order of [`LAYERS`].
pub(crate) const CHANNELS: usize = 16;
/// Channels with the four differences, in the order of [`Direction::ALL`].
pub(crate) const GRADIENTS: usize = CHANNELS + 12;

/// Kinds with their first channel and their number of channels.
const LAYERS: [(Kind, usize, usize); 7] = [
    (Kind::Color, 0, 3),
    (Kind::Albedo, 3, 3),
    (Kind::Normal, 6, 3),
    (Kind::Position, 9, 3),
    (Kind::Depth, 12, 1),
    (Kind::Visibility, 13, 1),
    (Kind::Motion, 14, 2),
];

/// One channel of one pixel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cell {
    /// Mean of half A.
    pub(crate) a: f32,
    /// Mean of half B.
    pub(crate) b: f32,
    /// Sum of squared differences to the mean of all samples.
    pub(crate) spread: f32,
}

/// How many of the samples `0..n` are in half A and in half B.
fn halves(n: u32) -> (f64, f64) {
    (f64::from(n.div_ceil(2)), f64::from(n / 2))
}

fn mean(a: f64, b: f64, (na, nb): (f64, f64)) -> f64 {
    if na + nb > 0.0 {
        (a * na + b * nb) / (na + nb)
    } else {
        0.0
    }
}

/// Sums over a batch of samples of one pixel.
pub(crate) struct Tally {
    channels: usize,
    a: [f64; GRADIENTS],
    b: [f64; GRADIENTS],
    squares: [f64; GRADIENTS],
    counts: (f64, f64),
}

impl Tally {
    pub(crate) fn new(channels: usize) -> Self {
        Self {
            channels,
            a: [0.0; GRADIENTS],
            b: [0.0; GRADIENTS],
            squares: [0.0; GRADIENTS],
            counts: (0.0, 0.0),
        }
    }

    pub(crate) fn add(&mut self, sample: u32, values: &[f32]) {
        let half = if sample.is_multiple_of(2) {
            self.counts.0 += 1.0;
            &mut self.a
        } else {
            self.counts.1 += 1.0;
            &mut self.b
        };
        for ((sum, square), v) in half.iter_mut().zip(&mut self.squares).zip(values) {
            let v = f64::from(*v);
            *sum += v;
            *square += v * v;
        }
    }

    /// Means of the halves and of all, and the spread, of a channel.
    fn moments(&self, c: usize) -> (f64, f64, f64, f64) {
        let (na, nb) = self.counts;
        let n = (na + nb).max(1.0);
        let all = (self.a[c] + self.b[c]) / n;
        let spread = (self.squares[c] - n * all * all).max(0.0);
        (
            self.a[c] / na.max(1.0),
            self.b[c] / nb.max(1.0),
            all,
            spread,
        )
    }

    /// Adds this batch to what `done` earlier samples left.
    pub(crate) fn merge_into(&self, cells: &mut [Cell], done: u32) {
        let (na, nb) = halves(done);
        let (ma, mb) = self.counts;
        let (n, m) = (na + nb, ma + mb);
        for (c, cell) in cells.iter_mut().enumerate().take(self.channels) {
            let (a, b, all, spread) = self.moments(c);
            let (old_a, old_b) = (f64::from(cell.a), f64::from(cell.b));
            let apart = all - mean(old_a, old_b, (na, nb));
            let join = |old: f64, new: f64, n: f64, m: f64| {
                if n + m > 0.0 {
                    (old * n + new * m) / (n + m)
                } else {
                    0.0
                }
            };
            *cell = Cell {
                a: join(old_a, a, na, ma) as f32,
                b: join(old_b, b, nb, mb) as f32,
                spread: (f64::from(cell.spread) + spread + apart * apart * n * m / (n + m)) as f32,
            };
        }
    }

    /// Mean and variance of the mean of the first three channels.
    pub(crate) fn estimate(&self) -> ([f32; 3], [f32; 3]) {
        let n = self.counts.0 + self.counts.1;
        let mut color = [0.0; 3];
        let mut variance = [0.0; 3];
        for c in 0..3 {
            let (_, _, all, spread) = self.moments(c);
            color[c] = all as f32;
            if n > 1.0 {
                variance[c] = (spread / (n * (n - 1.0))) as f32;
            }
        }
        (color, variance)
    }
}

/// All pixels, the channels of one beside each other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gather {
    pub(crate) size: Size,
    pub(crate) channels: usize,
    /// Samples in each row.
    pub(crate) rows: Vec<u32>,
    /// Samples of each pixel, once they differ; empty before.
    pub(crate) counts: Vec<u32>,
    pub(crate) pixels: Vec<Cell>,
}

impl Gather {
    pub(crate) fn new(size: Size, channels: usize) -> Self {
        Self {
            size,
            channels,
            rows: vec![0; size.height],
            counts: Vec::new(),
            pixels: vec![Cell::default(); size.pixels() * channels],
        }
    }

    /// Samples that every pixel has.
    pub(crate) fn samples(&self) -> u32 {
        self.rows.iter().copied().min().unwrap_or(0)
    }

    /// Samples of a pixel.
    pub(crate) fn count(&self, x: usize, y: usize) -> u32 {
        let own = self.counts.get(y * self.size.width + x);
        own.copied().unwrap_or(self.rows[y])
    }

    fn cell(&self, x: usize, y: usize, c: usize) -> &Cell {
        &self.pixels[(y * self.size.width + x) * self.channels + c]
    }

    /// The parts that this many samples can give: a half or a variance needs two.
    fn parts(&self) -> &'static [Part] {
        if self.samples() >= 2 {
            &[Part::Mean, Part::HalfA, Part::HalfB, Part::Variance]
        } else {
            &[Part::Mean]
        }
    }

    fn value(samples: u32, cell: &Cell, part: Part) -> f32 {
        match part {
            Part::Mean => mean(f64::from(cell.a), f64::from(cell.b), halves(samples)) as f32,
            Part::HalfA => cell.a,
            Part::HalfB => cell.b,
            Part::Variance => {
                let n = f64::from(samples);
                (f64::from(cell.spread) / (n * (n - 1.0))) as f32
            }
        }
    }

    /// All layers but the object numbers.
    pub(crate) fn frame(&self, options: &RenderOptions) -> Result<Frame> {
        let mut frame = Frame::empty(self.size)?;
        let samples = self.samples();
        if samples == 0 || self.rows.iter().any(|r| *r != samples) {
            return Err(Error::input("the render is not at the end of a batch"));
        }
        let Size { width, height } = self.size;
        for (kind, first, count) in LAYERS {
            for part in self.parts() {
                let image = Image::from_fn(width, height, count, |x, y, c| {
                    if kind == Kind::Color && !options.is_sampled(x, y) {
                        return f32::NAN;
                    }
                    Self::value(self.count(x, y), self.cell(x, y, first + c), *part)
                });
                frame.insert(Layer::new(kind.clone(), *part), image)?;
            }
        }
        if self.channels == GRADIENTS {
            for part in self.parts() {
                let dx = self.differences(Direction::Right, Direction::Left, *part);
                let dy = self.differences(Direction::Down, Direction::Up, *part);
                frame.insert(Layer::new(Kind::Dx, *part), dx)?;
                frame.insert(Layer::new(Kind::Dy, *part), dy)?;
            }
        }
        Ok(frame)
    }

    /// One difference from its two halves: seen from the pixel itself, and seen from its neighbour with the other sign.
    fn differences(&self, there: Direction, back: Direction, part: Part) -> Image {
        let Size { width, height } = self.size;
        let channel = |d: Direction| CHANNELS + 3 * d as usize;
        Image::from_fn(width, height, 3, |x, y, c| {
            let Some((nx, ny)) = there.neighbour((x, y), self.size) else {
                return 0.0;
            };
            let value =
                |x, y, d| Self::value(self.count(x, y), self.cell(x, y, channel(d) + c), part);
            let (own, other) = (value(x, y, there), value(nx, ny, back));
            // The two come from different pixels' samples, so their variances add.
            if part == Part::Variance {
                own + other
            } else {
                own - other
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_merge_to_the_whole() {
        let values: Vec<f32> = (0..101)
            .map(|i| (i as f32 * 0.7).sin() * 3.0 + 5.0)
            .collect();
        let mut cells = [Cell::default(); 1];
        for (start, end) in [(0_u32, 16_u32), (16, 32), (32, 96), (96, 101)] {
            let mut tally = Tally::new(1);
            for i in start..end {
                tally.add(i, &[values[i as usize]]);
            }
            tally.merge_into(&mut cells, start);
        }
        let n = values.len() as f32;
        let mean: f32 = values.iter().sum::<f32>() / n;
        let spread: f32 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let half = |k: usize| {
            let part: Vec<f32> = values.iter().skip(k).step_by(2).copied().collect();
            part.iter().sum::<f32>() / part.len() as f32
        };
        assert!((cells[0].a - half(0)).abs() < 1e-5);
        assert!((cells[0].b - half(1)).abs() < 1e-5);
        assert!((cells[0].spread / spread - 1.0).abs() < 1e-5);
    }
}
