//! The way of the data: frame, method and schedule, plan, device, frame.

#[cfg(feature = "gpu")]
use std::time::{Duration, Instant};

use crate::exec::cpu::CpuRunner;
#[cfg(feature = "gpu")]
use crate::exec::gpu::GpuRunner;
use crate::exec::tiled::Tiles;
use crate::exec::{self, PassTime, Watch};
use crate::method::{self, Knob, Method, Schedule};
use crate::plan::Plan;
#[cfg(feature = "gpu")]
use crate::plan::Step;
use crate::{Device, Error, Fit, Frame, Kind, Result, Shape, Size, tune};

/// What to do, and how.
#[derive(Debug)]
pub struct Options {
    /// The method with its options.
    pub method: Box<dyn Method>,
    /// The schedule by name; the method's choice when none.
    pub schedule: Option<String>,
    /// How much of the change is applied: 0 gives the input back, 1 the result.
    pub strength: f32,
    /// Longest side of a tile, when memory is short; by the device's limits when none.
    pub tile: Option<usize>,
}

impl Options {
    /// Options for a method.
    pub fn new(method: impl Method + 'static) -> Self {
        Self::of(Box::new(method))
    }

    /// Options for a method in a box.
    pub fn of(method: Box<dyn Method>) -> Self {
        Self {
            method,
            schedule: None,
            strength: 1.0,
            tile: None,
        }
    }
}

/// The method that the frame's layers suggest, with its default options.
impl Default for Options {
    fn default() -> Self {
        Self::new(method::Auto::default())
    }
}

impl Clone for Options {
    fn clone(&self) -> Self {
        Self {
            method: self.method.boxed(),
            schedule: self.schedule.clone(),
            strength: self.strength,
            tile: self.tile,
        }
    }
}

/// Runs a method on one frame, on the device that `auto` gives.
///
/// ```
/// use limpid::{method::Gaussian, Frame, Image, Options};
/// let frame = Frame::new(Image::from_fn(16, 16, 3, |x, y, _| ((x ^ y) & 1) as f32))?;
/// let out = limpid::denoise(&frame, &Options::new(Gaussian { radius: 4, sigma: Some(2.0) }))?;
/// assert!((out.color()?.get(8, 8, 0) - 0.5).abs() < 0.01);
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn denoise(frame: &Frame, options: &Options) -> Result<Frame> {
    denoise_on(&Device::open("auto")?, frame, options, &Watch::default())
}

/// Runs a method on one frame on a given device: a [`Sequence`] of one frame.
pub fn denoise_on(
    device: &Device,
    frame: &Frame,
    options: &Options,
    watch: &Watch,
) -> Result<Frame> {
    Sequence::new(device, options).run(frame, watch)
}

/// Frames one after the other, of any shapes.
///
/// For each frame: fills missing samples, lets the method look at the frame, makes a denoiser and runs it. A denoiser
/// with history is kept as long as the shape of the frames is the same, so that history goes from frame to frame.
///
/// ```
/// use limpid::{Device, Frame, Image, Options, Sequence, Watch, method::Taa};
/// let mut sequence = Sequence::new(&Device::open("cpu")?, &Options::new(Taa::default()));
/// for _ in 0..3 {
///     let frame = Frame::new(Image::new(8, 8, 3))?;
///     let out = sequence.run(&frame, &Watch::default())?;
/// }
/// # Ok::<(), limpid::Error>(())
/// ```
#[derive(Debug)]
pub struct Sequence {
    device: Device,
    options: Options,
    kept: Option<(Shape, Denoiser)>,
    /// The fastest schedule, and what it was measured for.
    fastest: Option<((Shape, Vec<Knob>), String)>,
    looks: Vec<Vec<f32>>,
}

impl Sequence {
    /// A sequence that has not begun.
    pub fn new(device: &Device, options: &Options) -> Self {
        Self {
            device: device.clone(),
            options: options.clone(),
            kept: None,
            fastest: None,
            looks: Vec::new(),
        }
    }

    /// Runs on the next frame.
    pub fn run(&mut self, frame: &Frame, watch: &Watch) -> Result<Frame> {
        let mended = frame.mend()?;
        let every = mended.frame.every();
        for (layer, count) in &mended.missing {
            // That colour is missing between samples is as it should be.
            if every > 1 && layer.kind == Kind::Color {
                continue;
            }
            log::warn!(
                "layer {layer}: {count} pixels are NaN or infinite; filled from their neighbours"
            );
        }
        let frame = &mended.frame;
        let shape = frame.shape();
        let mut denoiser = match self.kept.take().filter(|(kept, _)| *kept == shape) {
            Some((_, denoiser)) => denoiser,
            None => {
                let mut options = self.options.clone();
                options.method.prepare(frame)?;
                if options.schedule.as_deref() == Some(tune::AUTO) {
                    let key = (shape.clone(), options.method.knobs());
                    options.schedule = match &self.fastest {
                        Some((kept, name)) if *kept == key => Some(name.clone()),
                        _ => Some(tune::fastest(&self.device, frame, &options)?),
                    };
                    self.fastest = options.schedule.clone().map(|name| (key, name));
                }
                Denoiser::new(&self.device, &shape, &options)?
            }
        };
        let out = denoiser.run_watched(frame, watch)?;
        self.looks = denoiser.looks().to_vec();
        let history = |s: &crate::plan::Slot| s.role == crate::plan::Role::History;
        if denoiser.plan().slots.iter().any(history) {
            self.kept = Some((shape, denoiser));
        }
        Ok(out)
    }

    /// See [`Denoiser::looks`], of the last frame.
    pub fn looks(&self) -> &[Vec<f32>] {
        &self.looks
    }
}

/// A method made ready for frames of one shape: commit once, run many. History between frames lives here.
#[derive(Debug)]
pub struct Denoiser {
    runner: Runner,
    tiles: Option<Tiles>,
    schedule: Schedule,
    strength: f32,
    size: Size,
}

#[derive(Debug)]
enum Runner {
    Cpu(CpuRunner),
    #[cfg(feature = "gpu")]
    Gpu(GpuRunner),
}

impl Denoiser {
    /// Plans, compiles and takes memory for frames of this shape.
    pub fn new(device: &Device, shape: &Shape, options: &Options) -> Result<Self> {
        if !(0.0..=1.0).contains(&options.strength) {
            return Err(Error::input(format!(
                "--strength {}: expected 0 … 1",
                options.strength
            )));
        }
        let Fit {
            plan,
            schedule,
            tiles,
            ..
        } = Fit::new(device.room(), shape, options)?;
        let runner = match device {
            Device::Cpu(cpu) => Runner::Cpu(CpuRunner::new(cpu, plan)?),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Runner::Gpu(GpuRunner::new(gpu, plan)?),
        };
        Ok(Self {
            runner,
            tiles,
            schedule,
            strength: options.strength,
            size: shape.size,
        })
    }

    /// Runs on a frame without missing samples.
    pub fn run(&mut self, frame: &Frame) -> Result<Frame> {
        self.run_watched(frame, &Watch::default())
    }

    /// Runs on a frame, with progress and cancel.
    pub fn run_watched(&mut self, frame: &Frame, watch: &Watch) -> Result<Frame> {
        if frame.size() != self.size {
            return Err(Error::input(format!(
                "the frame is {}, the denoiser was made for {}",
                frame.size(),
                self.size
            )));
        }
        let size = match &self.tiles {
            None => self.plan().output_size(),
            Some(_) => frame.size(),
        };
        let mut out = exec::outputs(self.plan(), size)?;
        match self.tiles.clone() {
            None => self.runner.run(frame, &mut out, watch)?,
            Some(tiles) => {
                let mut part = exec::outputs(self.plan(), tiles.read)?;
                let all = tiles.all();
                for (i, tile) in all.iter().enumerate() {
                    let share = |i: usize| i as f32 / all.len() as f32;
                    let read = frame.crop(tile.x, tile.y, tiles.read);
                    self.runner
                        .run(&read, &mut part, &watch.part(share(i), share(i + 1)))?;
                    for (layer, made) in part.layers() {
                        if let Some(into) = out.get_mut(layer.clone()) {
                            Tiles::paste(tile, made, into);
                        }
                    }
                }
            }
        }
        if self.strength < 1.0 {
            blend(frame, &mut out, self.strength);
        }
        Ok(out)
    }

    /// Lets [`Denoiser::measure`] time all passes together, as the first one, where the device can: a timestamp between passes
    /// takes as long as a small pass.
    pub fn time_together(&mut self) {
        #[cfg(feature = "gpu")]
        if let Runner::Gpu(runner) = &mut self.runner {
            runner.time_together();
        }
    }

    /// Runs `runs` times on one frame, without transfers where the device has memory of its own, and gives the times of
    /// the passes of each run. Runs before them warm up: one, on a GPU half a second of them, because an idle GPU lowers
    /// its clock and takes its time to raise it (by a factor of 5 on an H200).
    pub fn measure(&mut self, frame: &Frame, runs: usize) -> Result<Vec<Vec<PassTime>>> {
        let mut out = exec::outputs(self.plan(), self.plan().output_size())?;
        let part = frame.crop(0, 0, self.plan().size);
        let watch = Watch::default();
        self.runner.run(&part, &mut out, &watch)?;
        #[cfg(feature = "gpu")]
        if let Runner::Gpu(runner) = &mut self.runner {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(500) {
                runner.compute(&watch)?;
                runner.read_times()?;
                runner.wait()?;
            }
        }
        #[cfg(feature = "gpu")]
        let repeats = {
            let repeated = |s: &Step| matches!(s, Step::Repeat { .. });
            self.plan().steps.iter().any(repeated)
        };
        let mut times = Vec::with_capacity(runs);
        for _ in 0..runs {
            match &mut self.runner {
                Runner::Cpu(runner) => {
                    runner.run(&part, &mut out, &watch)?;
                    times.push(runner.times().to_vec());
                }
                #[cfg(feature = "gpu")]
                Runner::Gpu(runner) => {
                    let begin = Instant::now();
                    runner.compute(&watch)?;
                    runner.read_times()?;
                    runner.wait()?;
                    // Repeated passes have no timestamps: there the clock of the wall counts.
                    if repeats {
                        let (name, time) = ("all passes".to_owned(), begin.elapsed());
                        times.push(vec![PassTime { name, time }]);
                    } else {
                        times.push(runner.times().to_vec());
                    }
                }
            }
        }
        Ok(times)
    }

    /// Forgets history: the next frame is a first one.
    pub fn reset(&mut self) {
        match &mut self.runner {
            Runner::Cpu(runner) => runner.reset(),
            #[cfg(feature = "gpu")]
            Runner::Gpu(runner) => runner.reset(),
        }
    }

    /// The plan that runs, of a tile when there are tiles.
    pub fn plan(&self) -> &Plan {
        match &self.runner {
            Runner::Cpu(runner) => runner.plan(),
            #[cfg(feature = "gpu")]
            Runner::Gpu(runner) => runner.plan(),
        }
    }

    /// The schedule that was chosen.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Number of tiles per frame.
    pub fn tile_count(&self) -> usize {
        self.tiles.as_ref().map_or(1, |t| t.all().len())
    }

    /// Time of each pass in the last run.
    pub fn times(&self) -> &[PassTime] {
        match &self.runner {
            Runner::Cpu(runner) => runner.times(),
            #[cfg(feature = "gpu")]
            Runner::Gpu(runner) => runner.times(),
        }
    }
}

impl Denoiser {
    /// What each repetition of the plan looked at in the last run: of iterative solvers, the squared residual as a share of
    /// the right-hand side after every step (on a GPU after every few).
    pub fn looks(&self) -> &[Vec<f32>] {
        match &self.runner {
            Runner::Cpu(runner) => runner.looks(),
            #[cfg(feature = "gpu")]
            Runner::Gpu(runner) => runner.looks(),
        }
    }
}

impl Runner {
    fn run(&mut self, input: &Frame, output: &mut Frame, watch: &Watch) -> Result<()> {
        match self {
            Self::Cpu(runner) => runner.run(input, output, watch),
            #[cfg(feature = "gpu")]
            Self::Gpu(runner) => runner.run(input, output, watch),
        }
    }
}

/// `in + strength * (out - in)`, for the layers that both have.
fn blend(input: &Frame, out: &mut Frame, strength: f32) {
    for (layer, before) in input.layers() {
        if let Some(after) = out
            .get_mut(layer.clone())
            .filter(|a| (a.size(), a.channels()) == (before.size(), before.channels()))
        {
            for (a, b) in after.data_mut().iter_mut().zip(before.data()) {
                *a = b + strength * (*a - b);
            }
        }
    }
}
