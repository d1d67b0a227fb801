//! Data flow: frame, method and schedule, plan, device, frame.

mod blend;

use crate::exec::tiled::Tiles;
use crate::exec::{self, PassTime, Runner, Watch};
use crate::method::{self, Method, Ordered, Pick, Schedule};
use crate::plan::{Plan, Role, Slot};
use crate::{Device, DeviceLimits, Error, FittedPlan, Frame, Image, Result, Shape, Size, tune};
use blend::blend;
use std::collections::VecDeque;

/// What to do, and how.
#[derive(Debug)]
pub struct Options {
    /// The method with its options.
    pub method: Box<dyn Method>,
    /// The schedule.
    pub schedule: Pick,
    /// How much of the change to apply: 0 returns the input, 1 the full result.
    pub strength: f32,
    /// Longest side of a tile, when memory is limited; `None` for the device's limits.
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
            schedule: Pick::Usual,
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

/// Processes frames in order. Their shapes may change.
///
/// Each frame is prepared by filling missing samples and by the method's analysis, then run by a denoiser. The denoiser is kept as
/// long as the shape of the frames stays the same, so that nothing is compiled or allocated again, and history is carried from frame
/// to frame. Numbers that a method measures in each frame, such as a noise level, are updated.
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
    kept: Option<Kept>,
    /// The fastest schedule, and the shape it was measured for.
    fastest: Option<(Shape, Schedule)>,
    residuals: Vec<Vec<f32>>,
    /// Frames that wait for their result, if results are blended with them.
    waiting: VecDeque<Option<Frame>>,
    /// Whether results may be delayed.
    waits: bool,
    /// Whether the next frame is the first of a film.
    fresh: bool,
}

/// The state that is kept from frame to frame.
#[derive(Debug)]
struct Kept {
    shape: Shape,
    /// The options it was made for, with the numbers found in the last frame.
    options: Options,
    denoiser: Denoiser,
}

impl Kept {
    /// A black frame, for runs after the last one.
    fn nothing(&self) -> Result<Frame> {
        let mut frame = Frame::empty(self.shape.size)?;
        for slot in self.denoiser.plan().slots() {
            if let Role::Input(layer) = &slot.role {
                let Size { width, height } = self.shape.size;
                frame.insert(layer.clone(), Image::new(width, height, slot.planes))?;
            }
        }
        Ok(frame)
    }
}

impl Sequence {
    /// A new sequence.
    pub fn new(device: &Device, options: &Options) -> Self {
        Self {
            device: device.clone(),
            options: options.clone(),
            kept: None,
            fastest: None,
            residuals: Vec::new(),
            waiting: VecDeque::new(),
            waits: false,
            fresh: false,
        }
    }

    /// Runs on the next frame and returns its result. Methods with look-ahead do without it.
    pub fn run(&mut self, frame: &Frame, watch: &Watch) -> Result<Frame> {
        let mended = frame.mended()?;
        let out = self.run_mended(&mended, watch)?;
        Ok(self.blended(out, &mended))
    }

    /// Takes the next frame of a film and returns the results that are complete. With a method that looks ahead these belong to
    /// earlier frames; [`Sequence::finish`] returns the last ones.
    ///
    /// ```
    /// use limpid::{Device, Frame, Image, Options, Sequence, Watch, method::Film};
    /// let mut sequence = Sequence::new(&Device::open("cpu")?, &Options::new(Film::default()));
    /// let mut out = Vec::new();
    /// for _ in 0..4 {
    ///     let frame = Frame::new(Image::new(8, 8, 3))?;
    ///     out.extend(sequence.push(&frame, &Watch::default())?);
    /// }
    /// out.extend(sequence.finish(&Watch::default())?);
    /// assert_eq!(out.len(), 4);
    /// # Ok::<(), limpid::Error>(())
    /// ```
    pub fn push(&mut self, frame: &Frame, watch: &Watch) -> Result<Vec<Frame>> {
        let mended = frame.mended()?;
        // Frames of another size are another film.
        let mut out = match &self.kept {
            Some(kept) if kept.shape != mended.shape() => self.finish(watch)?,
            _ => Vec::new(),
        };
        self.waits = true;
        let made = self.run_mended(&mended, watch)?;
        let ahead = self.method().ahead();
        let blends = |kept: &Kept| kept.denoiser.blends();
        let blends = self.kept.as_ref().is_some_and(blends);
        self.waiting.push_back(blends.then(|| mended.into_owned()));
        if self.waiting.len() > ahead {
            out.extend(self.came(made));
        }
        Ok(out)
    }

    /// Ends a film and returns the remaining results. The next frame starts another film.
    pub fn finish(&mut self, watch: &Watch) -> Result<Vec<Frame>> {
        let Some(mut kept) = self.kept.take() else {
            return Ok(Vec::new());
        };
        let ahead = kept.options.method.ahead();
        let waiting = self.waiting.len();
        let mut made = Vec::new();
        if waiting > 0 {
            let nothing = kept.nothing()?;
            kept.options.method.wait(ahead, true);
            kept.denoiser.update(&kept.options)?;
            for _ in 0..ahead {
                made.push(kept.denoiser.run_plain(&nothing, watch)?);
            }
            kept.options.method.wait(ahead, false);
            kept.denoiser.update(&kept.options)?;
        }
        kept.denoiser.reset();
        self.fresh = true;
        self.kept = Some(kept);
        // The result of a short film at first is before its beginning.
        let made = made.into_iter().skip(ahead.saturating_sub(waiting));
        Ok(made.filter_map(|made| self.came(made)).collect())
    }

    /// A result, which belongs to the frame that has waited longest.
    fn came(&mut self, made: Frame) -> Option<Frame> {
        Some(match self.waiting.pop_front()? {
            Some(frame) => self.blended(made, &frame),
            None => made,
        })
    }

    fn blended(&self, made: Frame, frame: &Frame) -> Frame {
        match &self.kept {
            Some(kept) => kept.denoiser.blended(made, frame),
            None => made,
        }
    }

    /// Runs on a frame without missing samples.
    fn run_mended(&mut self, frame: &Frame, watch: &Watch) -> Result<Frame> {
        let shape = frame.shape();
        let fresh = std::mem::take(&mut self.fresh);
        let kept = self.kept.take().filter(|kept| kept.shape == shape);
        let mut kept = match kept {
            Some(kept)
                if kept.denoiser.has_history()
                    && !fresh
                    && !kept.options.method.measures_each() =>
            {
                kept
            }
            kept => self.adjusted(kept, frame, shape)?,
        };
        let out = kept.denoiser.run_plain(frame, watch)?;
        self.residuals = kept.denoiser.residuals().to_vec();
        self.kept = Some(kept);
        Ok(out)
    }

    /// A denoiser with the numbers of this frame: the existing one, or a new one.
    fn adjusted(&mut self, kept: Option<Kept>, frame: &Frame, shape: Shape) -> Result<Kept> {
        let mut options = self.options.clone();
        options.method.prepare(frame)?;
        if self.waits {
            let ahead = options.method.ahead();
            options.method.wait(ahead, false);
        }
        if options.schedule == Pick::Fastest {
            let schedule = match self.fastest.take() {
                Some((kept, schedule)) if kept == shape => schedule,
                _ => {
                    let asked = self.options.method.as_ref();
                    tune::fastest(&self.device, frame, &options, asked)?
                }
            };
            self.fastest = Some((shape.clone(), schedule.clone()));
            options.schedule = Pick::Given(schedule);
        }
        if let Some(mut kept) = kept
            && kept.denoiser.update(&options)?
        {
            kept.options = options;
            return Ok(kept);
        }
        Ok(Kept {
            denoiser: Denoiser::new(&self.device, &shape, &options)?,
            options,
            shape,
        })
    }

    /// The method with the numbers found in the last frame.
    pub fn method(&self) -> &dyn Method {
        let kept = self.kept.as_ref().map(|kept| &kept.options);
        kept.unwrap_or(&self.options).method.as_ref()
    }

    /// See [`Denoiser::residuals`]; of the last frame.
    pub fn residuals(&self) -> &[Vec<f32>] {
        &self.residuals
    }
}

/// A method prepared for frames of one shape: prepare once, run many times. History between frames lives here.
#[derive(Debug)]
pub struct Denoiser {
    runner: Box<dyn Runner>,
    tiles: Option<Tiles>,
    schedule: Schedule,
    strength: f32,
    /// See [`Method::amounts`].
    amounts: [f32; 2],
    limits: DeviceLimits,
    shape: Shape,
    /// The method, if tiles are ordered differently than its frames.
    orders: Option<Box<dyn Method>>,
}

impl Denoiser {
    /// Plans, compiles and allocates for frames of this shape.
    pub fn new(device: &Device, shape: &Shape, options: &Options) -> Result<Self> {
        if !(0.0..=1.0).contains(&options.strength) {
            return Err(Error::option("strength", options.strength, "0 … 1"));
        }
        let FittedPlan {
            plan,
            schedule,
            tiles,
            in_place,
            ..
        } = FittedPlan::new(device.limits(), shape, options)?;
        let runner = device.runner(plan)?;
        Ok(Self {
            runner,
            tiles,
            schedule,
            strength: options.strength,
            amounts: options.method.amounts(),
            limits: device.limits(),
            shape: shape.clone(),
            orders: in_place.then(|| options.method.boxed()),
        })
    }

    /// Takes the numbers of other options, such as a noise level, and keeps memory, shaders and history. Returns false if the options
    /// need other passes; then nothing has changed, and a new denoiser is needed.
    pub fn update(&mut self, options: &Options) -> Result<bool> {
        let fit = FittedPlan::new(self.limits, &self.shape, options)?;
        let same = fit.tiles == self.tiles && self.runner.update(&fit.plan)?;
        if same {
            self.schedule = fit.schedule;
            self.strength = options.strength;
            self.amounts = options.method.amounts();
        }
        Ok(same)
    }

    fn has_history(&self) -> bool {
        let history = |s: &Slot| s.role == Role::History;
        self.plan().slots.iter().any(history)
    }

    /// Runs on a frame without missing samples.
    pub fn run(&mut self, frame: &Frame) -> Result<Frame> {
        self.run_watched(frame, &Watch::default())
    }

    /// Runs on a frame, with progress and cancellation.
    pub fn run_watched(&mut self, frame: &Frame, watch: &Watch) -> Result<Frame> {
        let out = self.run_plain(frame, watch)?;
        Ok(self.blended(out, frame))
    }

    /// Whether results are blended with the input.
    fn blends(&self) -> bool {
        self.strength < 1.0 || self.amounts != [1.0, 1.0]
    }

    /// A result with the requested strength.
    fn blended(&self, mut out: Frame, input: &Frame) -> Frame {
        if self.blends() {
            blend(input, &mut out, self.amounts.map(|a| a * self.strength));
        }
        out
    }

    /// The same at full strength.
    fn run_plain(&mut self, frame: &Frame, watch: &Watch) -> Result<Frame> {
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
        let mut out = exec::outputs(self.plan(), size)?;
        let ordered = match &self.orders {
            Some(method) => method.ordered(frame, Ordered::Input)?,
            None => None,
        };
        let frame = ordered.as_ref().unwrap_or(frame);
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
        let ordered = match &self.orders {
            Some(method) => method.ordered(&out, Ordered::Result)?,
            None => None,
        };
        Ok(ordered.unwrap_or(out))
    }

    /// Lets [`Denoiser::measure`] time all passes together, as the first one, if the device can: a timestamp between passes
    /// takes as long as a small pass.
    pub fn time_together(&mut self) {
        self.runner.time_together();
    }

    /// The times of the passes in each of `runs` runs on one frame, see [`Runner::measure`].
    pub fn measure(&mut self, frame: &Frame, runs: usize) -> Result<Vec<Vec<PassTime>>> {
        let part = frame.crop(0, 0, self.plan().size);
        self.runner.measure(&part, runs)
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

    /// What each repetition of the plan measured in the last run: for iterative solvers, the squared residual as a share of
    /// the right-hand side after every step (on a GPU after every few).
    pub fn residuals(&self) -> &[Vec<f32>] {
        self.runner.residuals()
    }
}
