//! Rendering: samples of all pixels, gathered into a frame.

use crate::gather::{CHANNELS, GRADIENTS, Gather, Tally};
use crate::gradient::{self, Direction, Record};
use crate::path::{Sample, Tracer};
use crate::random::Random;
use crate::scene::Scene;
use glam::Vec2;
use limpid::{Error, Frame, Image, Kind, Result, Size, Watch};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Samples per pixel in a batch; even, so that the halves stay equal.
pub const BATCH: u32 = 16;

/// Largest image that is rendered.
const MOST_PIXELS: usize = 1 << 28;

/// Options of a render.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderOptions {
    /// Width and height.
    pub size: Size,
    /// Camera samples for each pixel.
    pub samples: u32,
    /// Another seed gives independent noise.
    pub seed: u64,
    /// Frame number: frames with the same seed have independent noise.
    pub frame: u64,
    /// Maximum number of surfaces a path visits.
    pub bounces: usize,
    /// Colour is sampled at one pixel of every block of this many pixels squared; the others are marked missing.
    pub every: usize,
    /// Also sample differences between neighbouring pixels.
    pub gradients: bool,
    /// When paths are shifted, GGX lobes narrower than this are followed by half vectors instead of being connected.
    pub glossy_below: f32,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            size: Size::new(512, 512),
            samples: 4,
            seed: 0,
            frame: 0,
            bounces: 32,
            every: 1,
            gradients: false,
            glossy_below: 0.2,
        }
    }
}

impl RenderOptions {
    fn check(&self) -> Result<()> {
        let pixels = self.size.width.checked_mul(self.size.height);
        if !pixels.is_some_and(|p| (1..=MOST_PIXELS).contains(&p)) {
            return Err(Error::input(format!(
                "an image of {} cannot be rendered; expected 1 to {MOST_PIXELS} pixels",
                self.size
            )));
        }
        if self.samples == 0 || self.bounces == 0 || self.every == 0 {
            return Err(Error::input(
                "samples, bounces and the size of a block must be at least 1",
            ));
        }
        if self.gradients && self.every > 1 {
            return Err(Error::unsupported(
                "gradients need a sample at every pixel; omit one of the two options",
            ));
        }
        Ok(())
    }

    /// Whether colour is sampled here: at the first pixel of every block.
    pub fn is_sampled(&self, x: usize, y: usize) -> bool {
        x.is_multiple_of(self.every) && y.is_multiple_of(self.every)
    }
}

/// Renders a frame: colour and features as means, halves and variances.
///
/// ```
/// use limpid::{Kind, Layer, Part, Size};
/// use limpid_scenes::{RenderOptions, builtin, render};
/// let options = RenderOptions { size: Size::new(16, 16), samples: 2, ..RenderOptions::default() };
/// let frame = render(&builtin("cornell", 0)?, &options)?;
/// assert!(frame.get(Layer::new(Kind::Albedo, Part::Variance)).is_some());
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn render(scene: &Scene, options: &RenderOptions) -> Result<Frame> {
    let mut render = Render::new(scene, options)?;
    render.finish(&Watch::default())?;
    render.frame()
}

/// A render in progress, one batch of samples at a time.
pub struct Render<'a> {
    tracer: Tracer<'a>,
    options: RenderOptions,
    pub(crate) gather: Gather,
}

impl<'a> Render<'a> {
    /// Starts a render.
    pub fn new(scene: &'a Scene, options: &RenderOptions) -> Result<Self> {
        options.check()?;
        let channels = if options.gradients {
            GRADIENTS
        } else {
            CHANNELS
        };
        Ok(Self {
            tracer: tracer(scene, options),
            options: options.clone(),
            gather: Gather::new(options.size, channels),
        })
    }

    /// Samples that every pixel has so far.
    pub fn samples(&self) -> u32 {
        self.gather.samples()
    }

    /// The options it was started with.
    pub fn options(&self) -> &RenderOptions {
        &self.options
    }

    pub(crate) fn parts(&mut self) -> (&Tracer<'a>, &mut Gather) {
        (&self.tracer, &mut self.gather)
    }

    /// Adds samples until the render is complete.
    pub fn finish(&mut self, watch: &Watch) -> Result<()> {
        while self.step(watch)? {}
        Ok(())
    }

    /// Adds one batch of samples, if any remain, and returns whether there were any. If it is stopped, finished work is
    /// kept, and the next call continues from there.
    pub fn step(&mut self, watch: &Watch) -> Result<bool> {
        let done = self.gather.samples();
        // Batches start at multiples of their size whatever was done before, so a continued render is the same render.
        let next = (done / BATCH + 1)
            .saturating_mul(BATCH)
            .min(self.options.samples);
        if next <= done {
            return Ok(false);
        }
        let (tracer, options) = (&self.tracer, &self.options);
        let channels = self.gather.channels;
        let rows = options.size.height as f32;
        let finished = AtomicUsize::new(0);
        self.gather
            .pixels
            .par_chunks_mut(options.size.width * channels)
            .zip(&mut self.gather.rows)
            .enumerate()
            .try_for_each_init(Record::default, |record, (y, (row, count))| {
                watch.check()?;
                if *count < next {
                    for (x, cells) in row.chunks_exact_mut(channels).enumerate() {
                        let mut tally = Tally::new(channels);
                        for sample in *count..next {
                            let values = values(tracer, options, (x, y), sample, record);
                            tally.add(sample, &values[..channels]);
                        }
                        tally.merge_into(cells, *count);
                    }
                    *count = next;
                }
                let share = (finished.fetch_add(1, Ordering::Relaxed) + 1) as f32 / rows;
                let samples = done as f32 + share * (next - done) as f32;
                watch.done(samples / options.samples as f32);
                Ok(())
            })?;
        Ok(true)
    }

    /// The frame made of the samples so far. A render that was stopped in the middle of a batch has none.
    pub fn frame(&self) -> Result<Frame> {
        let mut frame = self.gather.frame(&self.options)?;
        frame.set_sample_spacing(self.options.every);
        let ids = self.ids();
        frame.insert(Kind::Id, ids)?;
        Ok(frame)
    }

    /// Numbers of the objects that the first sample of each pixel meets, so that with one sample they belong to its colour; a
    /// mean of numbers would mean nothing.
    fn ids(&self) -> Image {
        let size = self.options.size;
        let mut image = Image::new(size.width, size.height, 1);
        image
            .data_mut()
            .par_chunks_mut(size.width)
            .enumerate()
            .for_each(|(y, row)| {
                for (x, id) in row.iter_mut().enumerate() {
                    let (film, _) = start(&self.options, (x, y), 0);
                    let ray = self.tracer.now.ray(film.pixel, film.lens);
                    *id = self
                        .tracer
                        .scene
                        .intersect(&ray)
                        .map_or(0.0, |hit| self.tracer.scene.surface(&hit).part as f32 + 1.0);
                }
            });
        image
    }
}

/// The estimate of one pixel's colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Mean over the samples.
    pub color: [f32; 3],
    /// Variance of that mean; zero for a single sample.
    pub variance: [f32; 3],
}

/// Takes the samples with the numbers `samples` at chosen pixels, `(x, y)`, for a better estimate at a few places.
///
/// A render with [`RenderOptions::samples`] = `n` uses the numbers `0..n`; samples from `n` on are independent of it.
///
/// ```
/// use limpid::Size;
/// use limpid_scenes::{RenderOptions, builtin, sample_pixels};
/// let options = RenderOptions { size: Size::new(64, 64), samples: 4, ..RenderOptions::default() };
/// let extra = sample_pixels(&builtin("cornell", 0)?, &options, &[(10, 20), (32, 32)], 4..100)?;
/// assert_eq!(extra.len(), 2);
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn sample_pixels(
    scene: &Scene,
    options: &RenderOptions,
    pixels: &[(usize, usize)],
    samples: std::ops::Range<u32>,
) -> Result<Vec<Estimate>> {
    options.check()?;
    if samples.is_empty() {
        return Err(Error::input("at least one sample is needed"));
    }
    let size = options.size;
    if let Some((x, y)) = pixels
        .iter()
        .find(|p| p.0 >= size.width || p.1 >= size.height)
    {
        return Err(Error::input(format!(
            "pixel ({x}, {y}) is outside an image of {size}"
        )));
    }
    let tracer = tracer(scene, options);
    Ok(pixels
        .par_iter()
        .map(|&pixel| {
            let mut tally = Tally::new(3);
            for sample in samples.clone() {
                let (s, _) = trace(&tracer, options, pixel, sample, &mut ());
                tally.add(sample, &s.color.to_array());
            }
            let (color, variance) = tally.estimate();
            Estimate { color, variance }
        })
        .collect())
}

fn tracer<'a>(scene: &'a Scene, options: &RenderOptions) -> Tracer<'a> {
    let [now, before] = scene.views(options.size);
    Tracer {
        scene,
        now,
        before,
        bounces: options.bounces,
    }
}

/// A camera sample: where on the film and where on the lens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Film {
    pub(crate) pixel: Vec2,
    pub(crate) lens: Vec2,
}

fn start(options: &RenderOptions, (x, y): (usize, usize), sample: u32) -> (Film, Random) {
    let pixel = (y * options.size.width + x) as u64;
    let mut random = Random::new(options.seed, options.frame, pixel, u64::from(sample));
    let within = random.two();
    let film = Film {
        pixel: Vec2::new(x as f32, y as f32) + within,
        lens: random.two(),
    };
    (film, random)
}

fn trace<R: crate::path::Recorder>(
    tracer: &Tracer<'_>,
    options: &RenderOptions,
    pixel: (usize, usize),
    sample: u32,
    record: &mut R,
) -> (Sample, Film) {
    let (film, mut random) = start(options, pixel, sample);
    let ray = tracer.now.ray(film.pixel, film.lens);
    (tracer.trace(&ray, &mut random, record), film)
}

/// All channels of one sample of one pixel.
pub(crate) fn values(
    tracer: &Tracer<'_>,
    options: &RenderOptions,
    pixel: (usize, usize),
    sample: u32,
    record: &mut Record,
) -> [f32; GRADIENTS] {
    let mut out = [0.0; GRADIENTS];
    let (features, color) = if options.gradients {
        record.clear();
        let (s, film) = trace(tracer, options, pixel, sample, record);
        for (i, direction) in Direction::ALL.into_iter().enumerate() {
            if direction.neighbour(pixel, options.size).is_some() {
                let difference =
                    gradient::difference(tracer, record, &film, direction, options.glossy_below);
                out[CHANNELS + 3 * i..][..3].copy_from_slice(&difference.to_array());
            }
        }
        (s.features, s.color)
    } else if options.is_sampled(pixel.0, pixel.1) {
        let (s, _) = trace(tracer, options, pixel, sample, &mut ());
        (s.features, s.color)
    } else {
        let (film, mut random) = start(options, pixel, sample);
        let ray = tracer.now.ray(film.pixel, film.lens);
        (tracer.look(&ray, &mut random), glam::Vec3A::ZERO)
    };
    out[0..3].copy_from_slice(&color.to_array());
    out[3..6].copy_from_slice(&features.albedo.to_array());
    out[6..9].copy_from_slice(&features.normal.to_array());
    out[9..12].copy_from_slice(&features.position.to_array());
    out[12] = features.depth;
    out[13] = features.visibility;
    out[14..16].copy_from_slice(&features.motion.to_array());
    out
}
