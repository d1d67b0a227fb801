//! A method on a device, with its history, on the calling thread.

use crate::{Device, Outcome, Picture, Settings};
use js_sys::Function;
use limpid::{Sequence, Watch};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wasm_bindgen::prelude::*;

/// A method with its options on a device; history between frames lives here.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Engine {
    sequence: Sequence,
}

/// A function of JavaScript. There is one thread.
struct ProgressCallback(Function);

// SAFETY: without threads nothing is sent anywhere.
unsafe impl Send for ProgressCallback {}
// SAFETY: as above.
unsafe impl Sync for ProgressCallback {}

impl ProgressCallback {
    /// Calls it; returns whether to go on.
    fn tell(&self, share: f32) -> bool {
        let answer = self.0.call1(&JsValue::NULL, &share.into());
        answer.is_ok_and(|answer| answer != JsValue::FALSE)
    }
}

/// A watch that tells a function, and stops when it returns false or throws.
fn watch(progress: Option<Function>) -> Watch {
    let Some(progress) = progress.map(ProgressCallback) else {
        return Watch::default();
    };
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    Watch::with_callback(move |share| {
        if !progress.tell(share) {
            flag.store(true, Ordering::Relaxed);
        }
    })
    .with_flag(stop)
}

#[wasm_bindgen]
impl Engine {
    /// Prepares a method.
    #[wasm_bindgen(constructor)]
    pub fn new(device: &Device, method: &str, settings: &Settings) -> Outcome<Engine> {
        let options = settings.options(method)?;
        let sequence = Sequence::new(&device.0, &options);
        Ok(Self { sequence })
    }

    /// Runs on a picture, or on the next frame. `progress` gets shares of the work, 0 … 1, and stops it by returning false.
    pub async fn run(&mut self, picture: &Picture, progress: Option<Function>) -> Outcome<Picture> {
        let made = self
            .sequence
            .run_async(&picture.frame, &watch(progress))
            .await?;
        Ok(picture.with_frame(made))
    }

    /// Takes the next frame of a film. Returns the results that are available, which may belong to earlier frames.
    pub async fn push(
        &mut self,
        picture: &Picture,
        progress: Option<Function>,
    ) -> Outcome<Vec<Picture>> {
        let watch = watch(progress);
        let made = self.sequence.push_async(&picture.frame, &watch).await?;
        let results = made.into_iter().map(|frame| picture.with_frame(frame));
        Ok(results.collect())
    }

    /// Ends a film: the results that are still to come, in the form of its last frame.
    pub async fn finish(
        &mut self,
        last: &Picture,
        progress: Option<Function>,
    ) -> Outcome<Vec<Picture>> {
        let made = self.sequence.finish_async(&watch(progress)).await?;
        let results = made.into_iter().map(|frame| last.with_frame(frame));
        Ok(results.collect())
    }

    /// The method that ran last, with what it measured.
    #[wasm_bindgen(getter)]
    pub fn method(&self) -> String {
        let method = self.sequence.method();
        match method.summary() {
            Some(summary) => format!("{}: {summary}", method.name()),
            None => method.name().to_owned(),
        }
    }
}
