//! Devices.

use wasm_bindgen::prelude::*;

/// A device that is open: the CPU, or the browser's GPU.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Device(pub(crate) limpid::Device);

#[wasm_bindgen]
impl Device {
    /// `cpu` or `gpu`.
    #[wasm_bindgen(getter)]
    pub fn kind(&self) -> String {
        self.0.backend().to_string()
    }

    /// Its name, for people.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.0.name()
    }
}
