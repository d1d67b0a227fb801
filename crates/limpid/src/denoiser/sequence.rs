//! Sequences of frames.

mod skip;

use super::range::Range;
use super::wait::{Wait, now};
use super::{Denoiser, Options};
use crate::method::{Method, Schedule, ScheduleChoice};
use crate::{Device, Frame, Image, Kind, Result, Shape, Size, tune};
use limpid_core::memory::caught;
use limpid_exec::Watch;
use limpid_plan::Role;
use limpid_reference::motion::Surfaces;
use std::borrow::Cow;
use std::collections::VecDeque;

/// Processes frames in order. Their shapes may change.
///
/// Each frame is prepared by filling missing samples and by the method's analysis, then run by a denoiser. The denoiser is kept
/// as long as the shape of the frames stays the same, so that nothing is compiled or allocated again, and history is carried
/// from frame to frame. Parameters that a method measures in each frame, such as a noise level, are updated.
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
    kept: Option<Prepared>,
    /// The fastest schedule, and the shape for which it was measured.
    fastest: Option<(Shape, Schedule)>,
    residuals: Vec<Vec<f32>>,
    /// Frames with pending results; stored if they are needed for blending.
    waiting: VecDeque<Option<Frame>>,
    /// Whether results may be delayed.
    waits: bool,
    /// Whether the next frame is the first of a film.
    fresh: bool,
    /// Whether a started run has a pending result.
    started: bool,
    /// The scale of the last frame.
    range: Range,
    /// The first frame of a film, which waits for the next one to be measured with it.
    held: Option<Held>,
    /// The surfaces of the last frame, if motion is found in them.
    surfaces: Option<Surfaces>,
    /// Whether a frame was refused since the last one.
    gap: bool,
}

/// A frame that waits for the next one.
#[derive(Debug)]
struct Held {
    frame: Frame,
    /// Whether its result is wanted.
    wanted: bool,
}

/// State kept from frame to frame.
#[derive(Debug)]
struct Prepared {
    shape: Shape,
    /// The denoiser's options, with the parameters measured in the last frame.
    options: Options,
    denoiser: Denoiser,
}

impl Prepared {
    /// By how many frames results are delayed. In tiles there is no history, and nothing to wait for.
    fn ahead(&self) -> usize {
        match self.denoiser.has_history() {
            true => self.options.method.lookahead(),
            false => 0,
        }
    }

    /// With the method as it runs: in tiles, without other frames.
    fn settled(mut self) -> Self {
        if self.ahead() < self.options.method.lookahead()
            && let Some(alone) = self.options.method.tileable()
        {
            self.options.method = alone;
        }
        self
    }

    /// A black frame, for the runs after the last frame.
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
    /// A sequence without frames so far.
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
            started: false,
            range: Range::default(),
            held: None,
            surfaces: None,
            gap: false,
        }
    }

    /// Runs on the next frame and returns its result. Methods do not look ahead.
    pub fn run(&mut self, frame: &Frame, watch: &Watch) -> Result<Frame> {
        caught(|| now(self.ran(frame, watch, Wait::Here)))
    }

    /// The same in a browser: the page goes on while its GPU works. Elsewhere, and on the CPU, the call waits.
    pub async fn run_async(&mut self, frame: &Frame, watch: &Watch) -> Result<Frame> {
        self.ran(frame, watch, Wait::Asynchronously).await
    }

    async fn ran(&mut self, frame: &Frame, watch: &Watch, wait: Wait) -> Result<Frame> {
        self.forget();
        let (mended, range) = Range::of(frame)?;
        if let Some(kept) = self.kept.as_mut().filter(|_| self.range != range) {
            // History has a different scale.
            kept.denoiser.reset();
        }
        self.range = range;
        if let Some(kept) = self.kept.as_mut()
            && !self.fresh
            && kept.shape == mended.shape()
            && kept.options.method.is_scene_cut(&mended)
        {
            kept.denoiser.reset();
            self.fresh = true;
        }
        let mut kept = caught(|| self.ready(&mended, None))?;
        let out = kept.denoiser.run_plain(&mended, watch, wait).await?;
        self.residuals = kept.denoiser.residuals().to_vec();
        self.kept = Some(kept);
        Ok(range.back(self.blended(out, &mended)))
    }

    /// Takes the next frame of a film and returns the results that are available. If the method looks ahead, these belong to
    /// earlier frames; the first calls may return none, and [`Sequence::finish`] returns the rest.
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
    ///
    /// After an error the next frame starts a new film. If the frame itself is refused, the pending results are returned by the next call, or
    /// by [`Sequence::finish`]; after other errors they are lost, and [`Sequence::waiting`] is 0.
    pub fn push(&mut self, frame: &Frame, watch: &Watch) -> Result<Vec<Frame>> {
        let ready = caught(|| self.taken(frame))?;
        let out = caught(|| now(self.pushed(ready, watch, Wait::Here)));
        self.after_push(out)
    }

    /// The same in a browser: the page goes on while its GPU works. Elsewhere, and on the CPU, the call waits.
    pub async fn push_async(&mut self, frame: &Frame, watch: &Watch) -> Result<Vec<Frame>> {
        let ready = self.taken(frame)?;
        let out = self.pushed(ready, watch, Wait::Asynchronously).await;
        self.after_push(out)
    }

    fn after_push(&mut self, out: Result<Vec<Frame>>) -> Result<Vec<Frame>> {
        if out.is_err() {
            self.waiting.clear();
            self.held = None;
            self.forget();
            // Resets the denoiser even if the error occurred outside it.
            if let Some(kept) = &mut self.kept {
                kept.denoiser.reset();
                self.fresh = true;
            }
        }
        out
    }

    /// Discards a started run.
    fn forget(&mut self) {
        if std::mem::take(&mut self.started)
            && let Some(kept) = &mut self.kept
        {
            kept.denoiser.abandon();
        }
    }

    /// With motion, if the method uses it and the frame has none.
    fn moving<'f>(&mut self, frame: Cow<'f, Frame>) -> Result<Cow<'f, Frame>> {
        if !self.options.method.wants_motion(&frame.shape()) {
            return Ok(frame);
        }
        let surfaces = Surfaces::of(&frame);
        let last = self.surfaces.as_ref().unwrap_or(&surfaces);
        let motion = last.motion_to(&surfaces);
        self.surfaces = Some(surfaces);
        let mut frame = frame.into_owned();
        frame.insert(Kind::Motion, motion)?;
        Ok(Cow::Owned(frame))
    }

    /// The frame as methods can process it, and its scale. If it is refused, what came before it is not lost.
    fn taken<'f>(&mut self, frame: &'f Frame) -> Result<(Cow<'f, Frame>, Range)> {
        let ready = Range::of(frame).and_then(|(mended, range)| Ok((self.moving(mended)?, range)));
        self.gap |= ready.is_err();
        ready
    }

    async fn pushed(
        &mut self,
        (mended, range): (Cow<'_, Frame>, Range),
        watch: &Watch,
        wait: Wait,
    ) -> Result<Vec<Frame>> {
        let gap = std::mem::take(&mut self.gap);
        let mut first = Vec::new();
        if let Some(Held { frame, wanted }) = self.held.take() {
            let follows = !gap && frame.shape() == mended.shape() && self.range == range;
            let after = follows.then_some(&*mended);
            match wanted {
                true => first = self.added(Cow::Owned(frame), after, watch, wait).await?,
                false => self.kept = Some(self.ready(&frame, after)?),
            }
        }
        let another = self.begins_another(&mended, range, gap);
        let mut out = match another {
            true => {
                let ended = self.finished(watch, wait).await;
                self.after_finish(ended)?
            }
            false => Vec::new(),
        };
        out.splice(0..0, first);
        self.range = range;
        self.waits = true;
        let begins = self.fresh || self.kept.is_none();
        if begins && self.options.method.measures_pairs(&mended.shape()) {
            self.held = Some(Held {
                frame: mended.into_owned(),
                wanted: true,
            });
            return Ok(out);
        }
        out.extend(self.added(mended, None, watch, wait).await?);
        Ok(out)
    }

    /// Whether a frame begins another film: after a change of shape, range or noise, or a missing frame.
    fn begins_another(&mut self, frame: &Frame, range: Range, gap: bool) -> bool {
        self.kept.as_mut().is_some_and(|kept| {
            gap || kept.shape != frame.shape()
                || self.range != range
                || (!self.fresh && kept.options.method.is_scene_cut(frame))
        })
    }

    /// Runs on the next frame of a film; `after` is the one after the first.
    async fn added(
        &mut self,
        mended: Cow<'_, Frame>,
        after: Option<&Frame>,
        watch: &Watch,
        wait: Wait,
    ) -> Result<Vec<Frame>> {
        let mut out = Vec::new();
        let mut kept = self.ready(&mended, after)?;
        let ahead = kept.ahead();
        // If results are delayed anyway, the device works on this frame while the previous result is read back.
        let made = if ahead > 0 && kept.denoiser.begin(&mended, watch)? {
            let last = std::mem::replace(&mut self.started, true);
            match last {
                true => Some(kept.denoiser.end(watch, wait).await?),
                false => None,
            }
        } else {
            Some(kept.denoiser.run_plain(&mended, watch, wait).await?)
        };
        let blends = kept.denoiser.blends();
        self.residuals = kept.denoiser.residuals().to_vec();
        self.kept = Some(kept);
        self.waiting.push_back(blends.then(|| mended.into_owned()));
        let late = ahead + usize::from(self.started);
        out.extend(
            made.filter(|_| self.waiting.len() > late)
                .and_then(|m| self.complete(m)),
        );
        Ok(out)
    }

    /// Reuses the memory of a frame that is no longer needed for a result. Allocating memory for each result takes as long as a
    /// GPU needs for a frame.
    pub fn reuse(&mut self, frame: Frame) {
        if let Some(kept) = &mut self.kept {
            kept.denoiser.reuse(frame);
        }
    }

    /// Number of pending results.
    pub fn waiting(&self) -> usize {
        self.waiting.len() + usize::from(self.held.as_ref().is_some_and(|held| held.wanted))
    }

    /// Ends a film and returns the pending results. The next frame starts a new film.
    pub fn finish(&mut self, watch: &Watch) -> Result<Vec<Frame>> {
        let out = caught(|| now(self.finished(watch, Wait::Here)));
        self.after_finish(out)
    }

    /// The same in a browser: the page goes on while its GPU works. Elsewhere, and on the CPU, the call waits.
    pub async fn finish_async(&mut self, watch: &Watch) -> Result<Vec<Frame>> {
        let out = self.finished(watch, Wait::Asynchronously).await;
        self.after_finish(out)
    }

    fn after_finish(&mut self, out: Result<Vec<Frame>>) -> Result<Vec<Frame>> {
        if out.is_err() {
            self.waiting.clear();
            self.held = None;
            self.forget();
        }
        out
    }

    async fn finished(&mut self, watch: &Watch, wait: Wait) -> Result<Vec<Frame>> {
        let mut out = Vec::new();
        if let Some(Held { frame, .. }) = self.held.take().filter(|held| held.wanted) {
            out = self.added(Cow::Owned(frame), None, watch, wait).await?;
        }
        let Some(mut kept) = self.kept.take() else {
            return Ok(out);
        };
        let ahead = kept.ahead();
        let first = match std::mem::take(&mut self.started) {
            true => Some(kept.denoiser.end(watch, wait).await?),
            false => None,
        };
        let first = first.filter(|_| self.waiting.len() > ahead);
        let waiting = self.waiting.len() - usize::from(first.is_some());
        let mut made = Vec::new();
        if waiting > 0 {
            let nothing = kept.nothing()?;
            for run in 1..=ahead {
                kept.options.method.set_lookahead(ahead, run);
                kept.denoiser.update(&kept.options)?;
                made.push(kept.denoiser.run_plain(&nothing, watch, wait).await?);
            }
            kept.options.method.set_lookahead(ahead, 0);
            kept.denoiser.update(&kept.options)?;
        }
        kept.denoiser.reset();
        self.fresh = true;
        self.kept = Some(kept);
        // In a film shorter than the look-ahead, the first runs return frames before its beginning.
        let made = made.into_iter().skip(ahead.saturating_sub(waiting));
        let all = first.into_iter().chain(made);
        out.extend(all.filter_map(|made| self.complete(made)));
        Ok(out)
    }

    /// Finishes a result, which belongs to the oldest pending frame.
    fn complete(&mut self, made: Frame) -> Option<Frame> {
        let made = match self.waiting.pop_front()? {
            Some(frame) => self.blended(made, &frame),
            None => made,
        };
        Some(self.range.back(made))
    }

    fn blended(&self, made: Frame, frame: &Frame) -> Frame {
        match &self.kept {
            Some(kept) => kept.denoiser.blended(made, frame),
            None => made,
        }
    }

    /// Returns a denoiser for a frame, reusing the existing one if it fits.
    fn ready(&mut self, frame: &Frame, after: Option<&Frame>) -> Result<Prepared> {
        let shape = frame.shape();
        let fresh = std::mem::take(&mut self.fresh);
        let kept = self.kept.take().filter(|kept| kept.shape == shape);
        match kept {
            Some(kept)
                if kept.denoiser.has_history()
                    && !fresh
                    && !kept.options.method.measures_every_frame() =>
            {
                Ok(kept)
            }
            kept => self.adjusted(kept, (frame, after), shape),
        }
    }

    /// Returns a denoiser with the parameters of this frame, updating the existing one if possible.
    fn adjusted(
        &mut self,
        kept: Option<Prepared>,
        (frame, after): (&Frame, Option<&Frame>),
        shape: Shape,
    ) -> Result<Prepared> {
        let mut options = self.options.clone();
        // What was decided for frames that wait holds for the next ones.
        let last = kept.as_ref().map(|kept| &kept.options.method);
        let last = last.filter(|m| m.measures_every_frame() && !self.waiting.is_empty());
        let method = last.unwrap_or(&options.method);
        options.method = match after {
            Some(after) => method.prepared_for_film(frame, after)?,
            None => method.prepared(frame)?,
        };
        if self.waits {
            let ahead = options.method.lookahead();
            options.method.set_lookahead(ahead, 0);
        }
        if options.schedule == ScheduleChoice::Fastest {
            let schedule = match self.fastest.take() {
                Some((kept, schedule)) if kept == shape => schedule,
                _ => {
                    let asked = self.options.method.as_ref();
                    tune::fastest(&self.device, frame, &options, asked)?
                }
            };
            self.fastest = Some((shape.clone(), schedule.clone()));
            options.schedule = ScheduleChoice::Explicit(schedule);
        }
        if let Some(mut kept) = kept
            && kept.denoiser.update(&options)?
        {
            kept.options = options;
            return Ok(kept.settled());
        }
        let made = Prepared {
            denoiser: Denoiser::new(&self.device, &shape, &options)?,
            options,
            shape,
        };
        Ok(made.settled())
    }

    /// The method with the parameters measured in the last frame.
    pub fn method(&self) -> &dyn Method {
        let kept = self.kept.as_ref().map(|kept| &kept.options);
        kept.unwrap_or(&self.options).method.as_ref()
    }

    /// The [`Denoiser::residuals`] of the last frame.
    pub fn residuals(&self) -> &[Vec<f32>] {
        &self.residuals
    }
}
