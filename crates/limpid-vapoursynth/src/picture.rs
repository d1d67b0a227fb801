//! Frames one by one, several at a time.

use limpid::{Device, Frame, Image, Options, Result, Sequence, Watch};
use std::sync::Mutex;

/// Denoisers for frames that are filtered at the same time.
#[derive(Debug)]
pub(crate) struct Pool {
    device: Device,
    options: Options,
    free: Mutex<Vec<Sequence>>,
}

impl Pool {
    pub(crate) fn new(device: Device, options: Options) -> Self {
        Self {
            device,
            options,
            free: Mutex::default(),
        }
    }

    pub(crate) fn result(&self, image: Image) -> Result<Image> {
        let free = || self.free.lock().unwrap_or_else(|e| e.into_inner());
        let last = free().pop();
        let mut sequence = last.unwrap_or_else(|| Sequence::new(&self.device, &self.options));
        let made = sequence.run(&Frame::new(image)?, &Watch::default())?;
        let image = made.color()?.clone();
        sequence.reuse(made);
        free().push(sequence);
        Ok(image)
    }
}
