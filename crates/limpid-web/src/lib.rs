//! Limpid for JavaScript, in browsers and in Node.
//!
//! What is here is the bridge: pictures, devices and engines that live in WebAssembly's memory. `js/limpid.js` is the interface
//! that people use. On other targets the crate is empty.
//!
//! It is built twice: with a GPU and one thread, and with the feature `threads` instead, for workers that share one memory.

#![cfg(all(target_family = "wasm", target_os = "unknown"))]

#[cfg(feature = "gpu")]
mod browser;
mod device;
#[cfg(not(feature = "threads"))]
mod engine;
mod picture;
#[cfg(feature = "gpu")]
mod recorder;
mod settings;
#[cfg(feature = "threads")]
pub mod threads;

pub use device::Device;
#[cfg(not(feature = "threads"))]
pub use engine::Engine;
pub use picture::Picture;
#[cfg(feature = "gpu")]
pub use recorder::Recorder;
pub use settings::Settings;

use js_sys::Error as JsException;
use limpid::Error;
use limpid::method::{METHODS, QUALITY, Use};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(text: &str);
}

/// Panics are faults of Limpid. They end the module, and the console says where.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|info| console_error(&info.to_string())));
}

/// An error on its way to JavaScript: an exception with the kind of the error as its name.
#[derive(Debug)]
pub struct Thrown(Error);

/// The results of functions that JavaScript calls.
pub(crate) type Outcome<T> = Result<T, Thrown>;

impl From<Error> for Thrown {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<Thrown> for JsValue {
    fn from(Thrown(error): Thrown) -> Self {
        let exception = JsException::new(&error.to_string());
        exception.set_name(match error {
            Error::Stopped => "AbortError",
            Error::Device { .. } => "DeviceError",
            Error::Unsupported { .. } => "UnsupportedError",
            _ => "LimpidError",
        });
        exception.into()
    }
}

/// The methods that remove noise: name, description, whether they take frames of a sequence only, and their quality words, as
/// JSON.
#[wasm_bindgen]
pub fn methods() -> String {
    let denoisers = METHODS.iter().filter(|e| e.used == Use::Denoise);
    let all = denoisers.map(|e| {
        let quality: &[&str] = if e.steps.is_some() { &QUALITY } else { &[] };
        serde_json::json!({
            "name": e.name,
            "about": e.about,
            "overTime": e.over_time,
            "quality": quality,
        })
    });
    serde_json::Value::from_iter(all).to_string()
}

/// Provides the weights of the larger network, which are a file of their own.
#[wasm_bindgen(js_name = installBestWeights)]
pub fn install_best_weights(bytes: &[u8]) -> Outcome<()> {
    Ok(limpid::method::neural::Weights::install_best(bytes)?)
}

/// Bytes of WebAssembly's memory.
#[wasm_bindgen(js_name = memoryBytes)]
pub fn memory() -> f64 {
    /// Bytes of a page.
    const PAGE: f64 = 65536.0;
    core::arch::wasm32::memory_size(0) as f64 * PAGE
}
