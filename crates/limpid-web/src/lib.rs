//! Limpid for JavaScript, in browsers and in Node.
//!
//! What is here is the bridge: pictures, devices and engines that live in WebAssembly's memory. `js/limpid.js` is the interface
//! that people use. On other targets the crate is empty.

#![cfg(all(target_family = "wasm", target_os = "unknown"))]

mod device;
mod engine;
mod picture;
mod recorder;

pub use device::Device;
pub use engine::Engine;
pub use picture::Picture;
pub use recorder::Recorder;

use js_sys::{Error as JsException, Object, Reflect};
use limpid::Error;
use limpid::method::{METHODS, QUALITY, Use};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(text: &str);
}

/// Puts a value before what an object's class has under this name; whether that is possible.
pub(crate) fn shadow(object: &JsValue, name: &str, value: &JsValue) -> bool {
    let facts = Object::new();
    let set = |key: &str, value: &JsValue| Reflect::set(&facts, &key.into(), value).is_ok();
    set("value", value)
        && set("configurable", &JsValue::TRUE)
        && Reflect::define_property::<Object>(object.unchecked_ref(), &name.into(), &facts)
            .is_ok_and(|done| done)
}

/// Takes it away again.
pub(crate) fn uncover(object: &JsValue, name: &str) {
    // What was not put there is not there to take away.
    let _ = Reflect::delete_property::<Object>(object.unchecked_ref(), &name.into());
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
