//! Data flow: frame, method and schedule, plan, device, frame.

mod blend;
mod range;
mod sequence;
mod wait;

use crate::method;
use crate::method::{Method, Ordered, Schedule, ScheduleChoice};
use crate::{Device, DeviceFault, DeviceLimits, Error, FittedPlan, Frame, Result, Shape, Size};
use limpid_core::memory::caught;
use limpid_exec::tiled::Tiles;
use limpid_exec::{PassTime, Runner, Watch};
use limpid_plan::{Plan, Role, Slot};
use wait::{Wait, now};

#[doc(hidden)]
pub use blend::blend;
pub use sequence::Sequence;

/// A method, and how to run it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Options {
    /// The method with its options.
    pub method: Box<dyn Method>,
    /// The schedule.
    pub schedule: ScheduleChoice,
    /// How much of the change to apply: 0 returns the input, 1 the full result.
    pub strength: f32,
    /// Longest side of a tile; `None` to use the device's limits.
    pub tile: Option<usize>,
    /// Memory limit in bytes, for RAM and for GPU memory: larger images are processed in tiles, or refused.
    pub memory: Option<u64>,
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
            schedule: ScheduleChoice::Default,
            strength: 1.0,
            tile: None,
            memory: None,
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
            memory: self.memory,
        }
    }
}

/// Runs a method on one frame, on the device that `auto` picks.
///
/// ```
/// use limpid::{method::Gaussian, Frame, Image, Options};
/// let frame = Frame::new(Image::from_fn(16, 16, 3, |x, y, _| ((x ^ y) & 1) as f32))?;
/// let out = limpid::denoise(&frame, &Options::new(Gaussian::with(|m| { m.radius = 4; m.sigma = Some(2.0); })))?;
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

/// Whether a device ran out of memory.
fn is_short(error: &Error) -> bool {
    let short = |fault: &DeviceFault| matches!(fault, DeviceFault::OutOfMemory(_));
    matches!(error, Error::Device { fault, .. } if short(fault))
}

/// A method prepared for frames of one shape: prepare once, run many times. Holds the history between frames.
#[derive(Debug)]
pub struct Denoiser {
    runner: Box<dyn Runner>,
    tiles: Option<Tiles>,
    schedule: Schedule,
    strength: f32,
    /// See [`Method::blend_amounts`].
    amounts: [f32; 2],
    limits: DeviceLimits,
    shape: Shape,
    /// The method, if tiles use a different order of values than its frames.
    orders: Option<Box<dyn Method>>,
    /// The longest side of tiles that fit memory, if larger ones were requested.
    shrunk: Option<usize>,
    /// A frame whose memory is reused for the next result.
    spare: Option<Frame>,
    /// Whether a run was aborted by a panic.
    broken: bool,
}

/// Smallest side of a tile when memory is short.
const SMALLEST_TILE: usize = 64;

impl Denoiser {
    /// Plans, compiles and allocates memory for frames of this shape. If the device runs out of memory, smaller tiles are
    /// tried.
    pub fn new(device: &Device, shape: &Shape, options: &Options) -> Result<Self> {
        if !(0.0..=1.0).contains(&options.strength) {
            return Err(Error::option("strength", options.strength, "0 … 1"));
        }
        let first = match Self::fitted(device, shape, options) {
            Err(error) if is_short(&error) => error,
            other => return other,
        };
        let mut smaller = options.clone();
        let longest = shape.size.width.max(shape.size.height);
        let mut tile = options.tile.unwrap_or(longest).min(longest) / 2;
        while tile >= SMALLEST_TILE {
            smaller.tile = Some(tile);
            match Self::fitted(device, shape, &smaller) {
                Ok(mut made) => {
                    log::warn!("{first}; it runs in tiles of {tile} pixels");
                    made.shrunk = Some(tile);
                    return Ok(made);
                }
                Err(error) if is_short(&error) => tile /= 2,
                // No tile is that small.
                Err(_) => break,
            }
        }
        Err(first)
    }

    fn fitted(device: &Device, shape: &Shape, options: &Options) -> Result<Self> {
        let FittedPlan {
            plan,
            schedule,
            tiles,
            in_place,
            ..
        } = FittedPlan::new(device.limits(), shape, options)?;
        let runner = caught(|| device.runner(plan))?;
        Ok(Self {
            runner,
            tiles,
            schedule,
            strength: options.strength,
            amounts: options.method.blend_amounts(),
            limits: device.limits(),
            shape: shape.clone(),
            orders: in_place.then(|| options.method.boxed()),
            shrunk: None,
            spare: None,
            broken: false,
        })
    }

    /// Updates the parameters to those of other options, such as a noise level, and keeps memory, shaders and history. Returns
    /// false and changes nothing if the options need other passes; then a new denoiser is needed.
    pub fn update(&mut self, options: &Options) -> Result<bool> {
        let mut asked = std::borrow::Cow::Borrowed(options);
        if self.shrunk.is_some() {
            asked.to_mut().tile = self.shrunk;
        }
        let fit = FittedPlan::new(self.limits, &self.shape, &asked)?;
        let same = fit.tiles == self.tiles && self.runner.update(&fit.plan)?;
        if same {
            self.schedule = fit.schedule;
            self.strength = options.strength;
            self.amounts = options.method.blend_amounts();
        }
        Ok(same)
    }

    fn has_history(&self) -> bool {
        let history = |s: &Slot| s.role == Role::History;
        self.plan().slots().iter().any(history)
    }

    /// Runs on a frame without missing samples.
    pub fn run(&mut self, frame: &Frame) -> Result<Frame> {
        self.run_watched(frame, &Watch::default())
    }

    /// Runs on a frame, with progress and cancellation.
    pub fn run_watched(&mut self, frame: &Frame, watch: &Watch) -> Result<Frame> {
        let out = now(self.run_plain(frame, watch, Wait::Here))?;
        Ok(self.blended(out, frame))
    }

    /// Whether results are blended with the input.
    fn blends(&self) -> bool {
        self.strength < 1.0 || self.amounts != [1.0, 1.0]
    }

    /// Blends a result with the input according to the strength.
    fn blended(&self, mut out: Frame, input: &Frame) -> Frame {
        if self.blends() {
            blend(input, &mut out, self.amounts.map(|a| a * self.strength));
        }
        out
    }

    /// Runs on a frame like [`Denoiser::run_watched`], in a browser: the page goes on while its GPU works. Elsewhere, and on the
    /// CPU, the call waits.
    pub async fn run_async(&mut self, frame: &Frame, watch: &Watch) -> Result<Frame> {
        let out = self.run_plain(frame, watch, Wait::Asynchronously).await?;
        Ok(self.blended(out, frame))
    }

    /// Runs at full strength.
    async fn run_plain(&mut self, frame: &Frame, watch: &Watch, wait: Wait) -> Result<Frame> {
        if wait == Wait::Here {
            return self.guarded(|denoiser| now(denoiser.run_parts(frame, watch, wait)));
        }
        self.check_whole()?;
        // Stays if this call is abandoned.
        self.broken = true;
        let out = self.run_parts(frame, watch, wait).await;
        self.broken = false;
        out
    }

    /// Starts a run. [`Self::end`] returns its result. Returns false, and starts nothing, if this denoiser cannot.
    fn begin(&mut self, frame: &Frame, watch: &Watch) -> Result<bool> {
        if self.tiles.is_some() || self.orders.is_some() || frame.size() != self.shape.size {
            return Ok(false);
        }
        self.guarded(|denoiser| denoiser.runner.begin(frame, watch))
    }

    /// The result of the oldest started run, at full strength.
    async fn end(&mut self, watch: &Watch, wait: Wait) -> Result<Frame> {
        wait.for_end(self.runner.as_mut()).await;
        self.guarded(|denoiser| {
            let mut out = denoiser.outputs(denoiser.plan().output_size())?;
            denoiser.runner.end(&mut out, watch)?;
            Ok(out)
        })
    }

    /// Keeps a frame whose memory the next result can use.
    fn reuse(&mut self, frame: Frame) {
        self.spare = Some(frame);
    }

    /// Images for all outputs. Their contents are undefined, because every run overwrites all of them.
    fn outputs(&mut self, size: Size) -> Result<Frame> {
        let spare = self.spare.take();
        let fits = |frame: &Frame| limpid_exec::are_outputs(self.plan(), size, frame);
        match spare.filter(fits) {
            Some(frame) => Ok(frame),
            None => limpid_exec::outputs(self.plan(), size),
        }
    }

    /// Discards started runs.
    fn abandon(&mut self) {
        self.runner.abandon();
    }

    /// Does work that leaves the denoiser unusable if it panics.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.check_whole()?;
        self.broken = true;
        let mut ended = false;
        let out = caught(|| {
            let out = work(self);
            ended = true;
            out
        });
        self.broken = !ended;
        out
    }

    /// An error if an earlier run ended in the middle.
    fn check_whole(&self) -> Result<()> {
        match self.broken {
            true => Err(Error::unsupported(
                "an earlier run of this denoiser ended in the middle; make a new one",
            )),
            false => Ok(()),
        }
    }

    async fn run_parts(&mut self, frame: &Frame, watch: &Watch, wait: Wait) -> Result<Frame> {
        if frame.size() != self.shape.size {
            return Err(Error::input(format!(
                "the frame is {}, the denoiser was made for {}",
                frame.size(),
                self.shape.size
            )));
        }
        let size = match &self.tiles {
            None => self.plan().output_size(),
            Some(_) => frame.size(),
        };
        let mut out = self.outputs(size)?;
        let ordered = match &self.orders {
            Some(method) => method.ordered(frame, Ordered::Input)?,
            None => None,
        };
        let frame = ordered.as_ref().unwrap_or(frame);
        match self.tiles.clone() {
            None => {
                let runner = self.runner.as_mut();
                wait.run(runner, frame, &mut out, watch).await?;
            }
            Some(tiles) => {
                let mut part = limpid_exec::outputs(self.plan(), tiles.read)?;
                let all = tiles.all();
                for (i, tile) in all.iter().enumerate() {
                    let share = |i: usize| i as f32 / all.len() as f32;
                    let read = frame.crop(tile.x, tile.y, tiles.read);
                    let watch = watch.for_part(share(i), share(i + 1));
                    let runner = self.runner.as_mut();
                    wait.run(runner, &read, &mut part, &watch).await?;
                    for (layer, made) in part.layers() {
                        if let Some(into) = out.get_mut(layer.clone()) {
                            Tiles::paste(tile, made, into);
                        }
                    }
                }
            }
        }
        let ordered = match &self.orders {
            Some(method) => method.ordered(&out, Ordered::Result)?,
            None => None,
        };
        Ok(ordered.unwrap_or(out))
    }

    /// Makes [`Denoiser::measure`] time all passes together, as the first one, if the device can: a timestamp between passes
    /// takes as long as a small pass.
    #[doc(hidden)]
    pub fn time_together(&mut self) {
        self.runner.time_together();
    }

    /// The times of the passes in each of `runs` runs on these frames in turn, see [`Runner::measure`].
    pub fn measure(&mut self, frames: &[Frame], runs: usize) -> Result<Vec<Vec<PassTime>>> {
        let part = |frame: &Frame| frame.crop(0, 0, self.plan().size());
        let parts: Vec<Frame> = frames.iter().map(part).collect();
        self.runner.measure(&parts, runs)
    }

    /// Clears the history: the next frame is treated as the first.
    pub fn reset(&mut self) {
        self.runner.reset();
    }

    /// The plan that runs: of the frame, or of one tile.
    pub fn plan(&self) -> &Plan {
        self.runner.plan()
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
        self.runner.times()
    }

    /// The values checked by each repetition of the plan in the last run: for iterative solvers, the squared residual relative
    /// to the right-hand side after every step (on a GPU after every few).
    pub fn residuals(&self) -> &[Vec<f32>] {
        self.runner.residuals()
    }
}
