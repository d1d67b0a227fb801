//! The GPU of the browser, opened by Limpid or by the page.

use crate::{Device, Outcome};
use js_sys::{Object, Promise, Reflect};
use limpid::exec::gpu::Gpu;
use limpid::wgpu;
use limpid::{DeviceFault, Error, Result};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
impl Device {
    /// Opens `cpu`, `gpu` or `auto`.
    pub async fn open(name: String) -> Outcome<Self> {
        Ok(Self(limpid::Device::open_async(&name).await?))
    }

    /// A device of the page, such as its renderer's.
    pub async fn adopt(device: JsValue) -> Outcome<Self> {
        Ok(Self(limpid::Device::Gpu(adopted(&device).await?)))
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

/// wgpu takes no devices that it has not asked for; so it asks an adapter that has only this one.
async fn adopted(device: &JsValue) -> Result<Gpu> {
    let refused = |why: String| Error::device("WebGPU", DeviceFault::Rejected(why));
    let of = |name: &str| Reflect::get(device, &name.into()).unwrap_or(JsValue::UNDEFINED);
    if of("createComputePipeline").is_undefined() {
        return Err(Error::input("this is no GPUDevice"));
    }
    let object = |members: &[(&str, &JsValue)]| {
        let made = Object::new();
        for (name, value) in members {
            // New objects take everything.
            let _ = Reflect::set(&made, &(*name).into(), value);
        }
        made
    };
    let given = device.clone();
    let give = Closure::<dyn Fn() -> Promise>::new(move || Promise::resolve(&given));
    // Browsers of before 2025 do not say of which adapter a device is.
    let info = match of("adapterInfo") {
        info if info.is_object() => info,
        _ => {
            let empty = JsValue::from("");
            let names = ["vendor", "architecture", "device", "description"];
            object(&names.map(|name| (name, &empty))).into()
        }
    };
    let adapter: JsValue = object(&[
        ("features", &of("features")),
        ("limits", &of("limits")),
        ("info", &info),
        ("requestDevice", give.as_ref()),
    ])
    .into();
    let answer = Closure::<dyn Fn() -> Promise>::new(move || Promise::resolve(&adapter));
    let gpu = object(&[("requestAdapter", answer.as_ref())]);
    // An instance looks for WebGPU once, when it is made.
    let navigator = Reflect::get(&js_sys::global(), &"navigator".into());
    let navigator = navigator.map_err(|_| refused("no navigator".into()))?;
    let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
    desc.backends = wgpu::Backends::BROWSER_WEBGPU;
    let shadowed = shadow(&navigator, "gpu", &gpu);
    let instance = wgpu::Instance::new(desc);
    uncover(&navigator, "gpu");
    if !shadowed {
        return Err(refused("this browser does not let it be used".into()));
    }
    let adapter = instance.request_adapter(&wgpu::RequestAdapterOptions::default());
    let adapter = adapter.await.map_err(|e| refused(e.to_string()))?;
    let asked = wgpu::DeviceDescriptor {
        required_features: adapter.features(),
        required_limits: adapter.limits(),
        ..wgpu::DeviceDescriptor::default()
    };
    let (device, queue) = adapter
        .request_device(&asked)
        .await
        .map_err(|e| refused(e.to_string()))?;
    Ok(Gpu::from_wgpu(&adapter, device, queue))
}
