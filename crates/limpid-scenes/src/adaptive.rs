//! Samples where they help most: a budget spent in rounds, guided by the estimated error of the denoised picture (Dammertz 2010,
//! future work).
//!
//! After `n` samples the error of a pixel is about `v / n`. The sum of these over all pixels, for a given number of samples, is
//! least where `n` goes with `√v`; `v` is the estimated error times the samples that it was estimated from.

use crate::gather::Tally;
use crate::gradient::Record;
use crate::render::{Render, values};
use limpid::{Error, Frame, Image, Result, Watch};
use rayon::prelude::*;

/// How the samples are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adaptive {
    /// Number of rounds; in the first, all pixels get the same number of samples.
    pub rounds: u32,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self { rounds: 4 }
    }
}

/// Minimum samples of a pixel: two halves with a variance each.
const LEAST: u32 = 4;
/// A round multiplies the samples of a pixel by at most this: estimates from few samples may be chance.
const MOST: u32 = 8;
/// Every pixel is assumed to have at least this share of the mean error, because estimates are uncertain.
const FLOOR: f32 = 0.1;
/// Radius of the mean over which estimates are taken. Without it, pixels would get samples for the noise of their estimate, and those
/// that are dark by chance would stay so.
const AROUND: usize = 6;

impl Adaptive {
    /// Spends the samples of a render's options, as many per pixel on average. `error` denoises a frame and gives the estimated
    /// error of each pixel: squared, relative to brightness if that is what counts.
    pub fn run(
        self,
        render: &mut Render<'_>,
        watch: &Watch,
        mut error: impl FnMut(&Frame) -> Result<Image>,
    ) -> Result<()> {
        let options = render.options();
        let (size, samples) = (options.size, options.samples);
        if options.gradients || options.every > 1 {
            return Err(Error::unsupported(
                "adaptive renders support neither gradients nor pixels without samples",
            ));
        }
        let rounds = self.rounds.max(1);
        let first = (samples / rounds)
            .next_multiple_of(2)
            .max(LEAST)
            .min(samples);
        let mut counts = vec![first; size.pixels()];
        for round in 0..rounds {
            let share = |round: u32| round as f32 / rounds as f32;
            let part = watch.for_part(share(round), share(round + 1));
            render.raise(&counts, &part)?;
            let left = rounds - 1 - round;
            let spent: u64 = counts.iter().copied().map(u64::from).sum();
            let budget = size.pixels() as u64 * u64::from(samples);
            if left == 0 || spent >= budget {
                break;
            }
            let estimate = error(&render.frame()?)?;
            counts = allot(&estimate, &counts, (budget - spent) / u64::from(left));
        }
        Ok(())
    }
}

/// The samples that each pixel should have if `more` are distributed in total.
///
/// ```
/// use limpid::Image;
/// // The right side has four times the error of the left side: twice the samples.
/// let error = Image::from_fn(200, 20, 1, |x, _, _| if x < 100 { 0.1 } else { 0.4 });
/// let counts = limpid_scenes::allot(&error, &[8; 4000], 4000 * 4);
/// assert!(counts.iter().sum::<u32>().abs_diff(4000 * 12) <= 2);
/// assert!(counts[0] == 8 && (14..=16).contains(&counts[199]));
/// ```
pub fn allot(error: &Image, counts: &[u32], more: u64) -> Vec<u32> {
    let (width, height) = (error.width(), error.height());
    let around = mean(error.plane(0), width, height);
    let whole = around.iter().sum::<f32>() / around.len().max(1) as f32;
    let wish: Vec<f64> = around
        .iter()
        .zip(counts)
        .map(|(e, n)| f64::from(e.max(FLOOR * whole) * *n as f32).sqrt())
        .collect();
    // All shares grow together until the total is reached.
    let given = |scale: f64, i: usize| -> f64 {
        let has = f64::from(counts[i]);
        (scale * wish[i]).clamp(has, has * f64::from(MOST)) - has
    };
    let (mut low, mut high) = (0.0, 1.0);
    let spent = |scale: f64| (0..counts.len()).map(|i| given(scale, i)).sum::<f64>();
    let goal = more as f64;
    while spent(high) < goal && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if spent(middle) < goal {
            low = middle;
        } else {
            high = middle;
        }
    }
    // Pairs, so that both halves get equally many; rounding errors are carried to the next pixel.
    let mut rest = 0.0;
    let mut handed = 0;
    let mut out = counts.to_vec();
    for (i, n) in out.iter_mut().enumerate() {
        let wanted = given(high, i) + rest;
        let pairs = (0.5 * wanted + 1e-6).floor().max(0.0);
        let pairs = pairs.min((more - handed) as f64 / 2.0).floor();
        rest = wanted - 2.0 * pairs;
        *n += 2 * pairs as u32;
        handed += 2 * pairs as u64;
    }
    out
}

/// The mean over a square around each pixel, by sums along rows, then columns.
fn mean(values: &[f32], width: usize, height: usize) -> Vec<f32> {
    let line = |n: usize, at: usize| at.saturating_sub(AROUND)..(at + AROUND + 1).min(n);
    let across: Vec<f32> = (0..values.len())
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let range = line(width, x);
            let count = range.len() as f32;
            values[y * width..][range].iter().sum::<f32>() / count
        })
        .collect();
    (0..values.len())
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let range = line(height, y);
            let count = range.len() as f32;
            range.map(|y| across[y * width + x]).sum::<f32>() / count
        })
        .collect()
}

impl Render<'_> {
    /// Gives every pixel as many samples as it should have, if it has fewer. What was done is lost when it is stopped.
    pub fn raise(&mut self, samples: &[u32], watch: &Watch) -> Result<()> {
        let size = self.options().size;
        if samples.len() != size.pixels() {
            return Err(Error::input(format!(
                "{} numbers of samples for a picture of {size}",
                samples.len()
            )));
        }
        let options = self.options().clone();
        let (tracer, gather) = self.parts();
        if gather.counts.is_empty() {
            let rows = gather.rows.iter();
            gather.counts = rows.flat_map(|n| vec![*n; size.width]).collect();
        }
        let channels = gather.channels;
        let done = std::sync::atomic::AtomicUsize::new(0);
        gather
            .pixels
            .par_chunks_mut(size.width * channels)
            .zip(gather.counts.par_chunks_mut(size.width))
            .zip(samples.par_chunks(size.width))
            .enumerate()
            .try_for_each_init(Record::default, |record, (y, ((row, counts), samples))| {
                watch.check()?;
                let cells = row.chunks_exact_mut(channels);
                for (x, ((cells, has), wanted)) in cells.zip(counts).zip(samples).enumerate() {
                    let mut tally = Tally::new(channels);
                    for sample in *has..*wanted {
                        let values = values(tracer, &options, (x, y), sample, record);
                        tally.add(sample, &values[..channels]);
                    }
                    if *wanted > *has {
                        tally.merge_into(cells, *has);
                        *has = *wanted;
                    }
                }
                let rows = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                watch.done(rows as f32 / size.height as f32);
                Ok(())
            })?;
        let least = gather.counts.iter().copied().min().unwrap_or(0);
        gather.rows.fill(least);
        Ok(())
    }

    /// The number of samples of each pixel.
    pub fn sample_counts(&self) -> Image {
        let size = self.options().size;
        Image::from_fn(size.width, size.height, 1, |x, y, _| {
            self.gather.count(x, y) as f32
        })
    }
}
