//! Methods on textures of the page, which its renderer draws into and reads on the same device.

use crate::engine::Settings;
use crate::{Device, Outcome};
use js_sys::Reflect;
use limpid::exec::gpu::{Bindings, Gpu, LayerResources, Recorder};
use limpid::method::{Backend, Method, Use, find};
use limpid::plan::Element;
use limpid::wgpu::{self, webgpu::GpuTexture};
use limpid::{Error, Kind, Layer, Result, Shape, Size};
use wasm_bindgen::prelude::*;

/// A method that reads textures and writes one, as often as asked. It takes no memory and compiles nothing while it runs.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Textures {
    gpu: Gpu,
    recorder: Recorder,
    bindings: Bindings,
    fresh: bool,
}

/// The device of the GPU.
fn gpu(device: &Device) -> Result<&Gpu> {
    match &device.0 {
        limpid::Device::Gpu(gpu) => Ok(gpu),
        limpid::Device::Cpu(_) => Err(Error::unsupported("textures need a GPU; this is the CPU")),
    }
}

/// A number of an object of the browser.
fn number(object: &JsValue, name: &str) -> Result<u32> {
    let value = Reflect::get(object, &name.into()).ok();
    let value = value.and_then(|v| v.as_f64());
    value
        .map(|v| v as u32)
        .ok_or_else(|| Error::input(format!("this is no texture: it has no {name}")))
}

/// A texture of the browser, and what it holds.
fn wrapped(gpu: &Gpu, texture: &JsValue) -> Result<(wgpu::Texture, Element)> {
    let format = Reflect::get(texture, &"format".into()).ok();
    let format = format.and_then(|f| f.as_string()).unwrap_or_default();
    let (format, element) = match format.as_str() {
        "rgba32float" => (wgpu::TextureFormat::Rgba32Float, Element::F32x4),
        "rgba16float" => (wgpu::TextureFormat::Rgba16Float, Element::F16x4),
        other => {
            return Err(Error::input(format!(
                "a texture of format '{other}'; expected rgba32float or rgba16float"
            )));
        }
    };
    let descriptor = wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d {
            width: number(texture, "width")?,
            height: number(texture, "height")?,
            depth_or_array_layers: 1,
        },
        mip_level_count: number(texture, "mipLevelCount")?,
        sample_count: number(texture, "sampleCount")?,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::from_bits_truncate(number(texture, "usage")?),
        view_formats: &[],
    };
    let own: GpuTexture = texture.clone().unchecked_into();
    let device = gpu.device();
    Ok((
        device.create_texture_from_webgpu_handle(own, &descriptor, None),
        element,
    ))
}

/// The first schedule that this device can run.
fn recorder(gpu: &Gpu, method: &dyn Method, shape: &Shape, element: Element) -> Result<Recorder> {
    let mut last = Error::unsupported("the method has no schedule for GPUs");
    for schedule in method.schedules(Backend::Gpu) {
        let plan = method.plan(shape, &schedule)?.on_textures(element);
        match Recorder::new(gpu, plan) {
            Ok(recorder) => return Ok(recorder),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[wasm_bindgen]
impl Textures {
    /// Prepares a method for textures by layer; `output` gets the colour.
    #[wasm_bindgen(constructor)]
    pub fn new(
        device: &Device,
        method: &str,
        settings: &Settings,
        layers: Vec<String>,
        inputs: Vec<JsValue>,
        output: &JsValue,
    ) -> Outcome<Textures> {
        let gpu = gpu(device)?;
        let mut method = find(Use::Denoise, method)?;
        method.set_all(settings.given())?;
        let (result, element) = wrapped(gpu, output)?;
        let size = Size::new(result.width() as usize, result.height() as usize);
        let mut shape: Option<Shape> = None;
        let mut ports = LayerResources::default().output(Kind::Color, &result);
        for (layer, texture) in layers.iter().zip(&inputs) {
            let layer: Layer = layer.parse()?;
            let (texture, own) = wrapped(gpu, texture)?;
            if own != element {
                return Err(Error::input(format!("{layer}: all textures need one format")).into());
            }
            // Textures have three channels and one that nobody reads.
            let channels = layer
                .kind
                .channels()
                .iter()
                .copied()
                .max()
                .unwrap_or(3)
                .min(3);
            shape = Some(match shape {
                None if layer == Layer::COLOR => Shape::color(size, channels),
                None => return Err(Error::input("color comes first").into()),
                Some(shape) => shape.with(layer.clone(), channels),
            });
            ports = ports.input(layer, &texture);
        }
        let shape = shape.ok_or_else(|| Error::input("no textures"))?;
        let recorder = recorder(gpu, method.as_ref(), &shape, element)?;
        let bindings = recorder.bind(&ports)?;
        Ok(Self {
            gpu: gpu.clone(),
            recorder,
            bindings,
            fresh: true,
        })
    }

    /// Submits the work for the next frame, after what was submitted to the device before.
    pub fn run(&mut self) -> Outcome<()> {
        let mut encoder = self
            .gpu
            .device()
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        if std::mem::take(&mut self.fresh) {
            self.recorder.reset(&mut encoder);
        }
        self.recorder.record(&mut encoder, &self.bindings)?;
        self.gpu.queue().submit([encoder.finish()]);
        Ok(())
    }

    /// Forgets earlier frames.
    pub fn reset(&mut self) {
        self.fresh = true;
    }
}
