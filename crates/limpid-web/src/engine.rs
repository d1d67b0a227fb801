//! A method on a device, with its history.

use crate::{Device, Outcome, Picture};
use js_sys::Function;
use limpid::method::{Auto, Method, Use, find};
use limpid::{Options, Result, Sequence, Size, Watch};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wasm_bindgen::prelude::*;

/// Limit for the memory of a plan. Larger pictures are processed in tiles.
const MEMORY: u64 = 1 << 30;

/// A method with its options on a device; history between frames lives here.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Engine {
    sequence: Sequence,
}

/// How to run a method.
#[wasm_bindgen]
#[derive(Debug, Clone, Default)]
pub struct Settings {
    given: Vec<(String, String)>,
    strength: f32,
    tile: Option<usize>,
    schedule: Option<String>,
    frames: bool,
    linear: bool,
    extent: Option<[usize; 2]>,
}

#[wasm_bindgen]
impl Settings {
    /// Default options, for a single picture of encoded colour.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self {
            strength: 1.0,
            ..Self::default()
        }
    }

    /// Sets an option of the method by name.
    pub fn set(&mut self, name: String, value: String) {
        self.given.push((name, value));
    }

    /// How much of the change to apply, 0 … 1.
    pub fn strength(&mut self, strength: f32) {
        self.strength = strength;
    }

    /// The longest side of a tile.
    pub fn tile(&mut self, tile: usize) {
        self.tile = Some(tile);
    }

    /// The schedule, by name.
    pub fn schedule(&mut self, name: String) {
        self.schedule = Some(name);
    }

    /// The width and the height, where nothing else says them.
    pub fn extent(&mut self, width: usize, height: usize) {
        self.extent = Some([width, height]);
    }

    /// Whether frames form a sequence, and whether colour is linear light.
    pub fn kind(&mut self, frames: bool, linear: bool) {
        (self.frames, self.linear) = (frames, linear);
    }
}

impl Settings {
    /// Options of the method by name.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.given.iter().map(|(n, v)| (&**n, &**v))
    }

    /// The size that was set.
    pub(crate) fn size(&self) -> Option<Size> {
        self.extent.map(|[width, height]| Size::new(width, height))
    }

    fn options(&self, method: &str) -> Result<Options> {
        let auto = match self.frames {
            true => Auto::sequence(),
            false => Auto::default(),
        };
        let mut method: Box<dyn Method> = match method {
            "auto" if self.linear => Box::new(auto.scene_linear()),
            "auto" => Box::new(auto),
            name => find(Use::Denoise, name)?,
        };
        method.set_all(self.given())?;
        let mut options = Options::of(method);
        options.strength = self.strength;
        options.tile = self.tile;
        options.memory = Some(MEMORY);
        if let Some(name) = &self.schedule {
            options.schedule = name.as_str().into();
        }
        Ok(options)
    }
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
