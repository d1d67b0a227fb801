//! Frames whose results are there already.

use super::{Held, Sequence};
use crate::{Error, Frame, Result};
use limpid_core::memory::caught;

impl Sequence {
    /// Takes the next frame of a film like [`Sequence::push`], but its result is not wanted: it is only measured, as far as results of
    /// later frames depend on that. For frames that an earlier run has finished. Frames within the reach of the first wanted
    /// result ([`Method::lookahead`](crate::method::Method::lookahead) frames before it) must be pushed.
    ///
    /// ```
    /// use limpid::{Device, Frame, Image, Options, Sequence, Watch, method::Film};
    /// let mut sequence = Sequence::new(&Device::open("cpu")?, &Options::new(Film::default()));
    /// for _ in 0..4 {
    ///     sequence.skip(&Frame::new(Image::new(8, 8, 3))?)?;
    /// }
    /// assert_eq!(sequence.finish(&Watch::default())?.len(), 0);
    /// # Ok::<(), limpid::Error>(())
    /// ```
    ///
    /// Fails while results are pending.
    pub fn skip(&mut self, frame: &Frame) -> Result<()> {
        if self.waiting() > 0 {
            return Err(Error::unsupported("skipping while results are pending"));
        }
        caught(|| self.skipped(frame))
    }

    fn skipped(&mut self, frame: &Frame) -> Result<()> {
        let (mended, range) = self.taken(frame)?;
        let gap = std::mem::take(&mut self.gap);
        if let Some(Held { frame, .. }) = self.held.take() {
            let follows = !gap && frame.shape() == mended.shape() && self.range == range;
            self.kept = Some(self.ready(&frame, follows.then_some(&*mended))?);
        }
        if self.begins_another(&mended, range, gap)
            && let Some(kept) = &mut self.kept
        {
            kept.denoiser.reset();
            self.fresh = true;
        }
        self.range = range;
        self.waits = true;
        let begins = self.fresh || self.kept.is_none();
        if begins && self.options.method.measures_pairs(&mended.shape()) {
            self.held = Some(Held {
                frame: mended.into_owned(),
                wanted: false,
            });
        } else {
            self.kept = Some(self.ready(&mended, None)?);
        }
        Ok(())
    }
}
