//! Devices.

use crate::Outcome;
use wasm_bindgen::prelude::*;

/// A device that is open: the CPU, or the browser's GPU.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Device(pub(crate) limpid::Device);

#[wasm_bindgen]
impl Device {
    /// Opens `cpu`, `gpu` or `auto`.
    pub async fn open(name: String) -> Outcome<Self> {
        Ok(Self(limpid::Device::open_async(&name).await?))
    }

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

    /// The browser's device, where it is a GPU.
    #[wasm_bindgen(getter)]
    pub fn handle(&self) -> JsValue {
        match &self.0 {
            limpid::Device::Gpu(gpu) => gpu.device().as_webgpu().into(),
            limpid::Device::Cpu(_) => JsValue::UNDEFINED,
        }
    }

    /// Closes a GPU under its users, for tests.
    pub fn lose(&self) {
        if let limpid::Device::Gpu(gpu) = &self.0 {
            gpu.device().destroy();
        }
    }
}
