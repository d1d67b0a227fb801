//! Methods on textures and buffers of the page, which its renderer draws into and reads on the same device.

use crate::{Device, Outcome, Settings};
use js_sys::Reflect;
use limpid::exec::gpu::{Bindings, Gpu, LayerResources, Recorder as Inner, Resource};
use limpid::method::{Backend, Method, Schedule, Use, find};
use limpid::plan::{Element, Plan};
use limpid::wgpu::{self, webgpu::GpuTexture};
use limpid::{DeviceLimits, Error, Kind, Layer, Result, Shape, Size};
use wasm_bindgen::prelude::*;

/// A method that reads textures or buffers and writes one, as often as asked. It takes no memory and compiles nothing while it runs.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Recorder {
    gpu: Gpu,
    inner: Inner,
    bindings: Bindings,
    fresh: bool,
}

/// The device of the GPU.
fn gpu(device: &Device) -> Result<&Gpu> {
    match &device.0 {
        limpid::Device::Gpu(gpu) => Ok(gpu),
        limpid::Device::Cpu(_) => Err(Error::unsupported(
            "textures and buffers need a GPU; this is the CPU",
        )),
    }
}

/// A number of an object of the browser.
fn number(object: &JsValue, name: &str) -> Result<f64> {
    let value = Reflect::get(object, &name.into()).ok();
    let value = value.and_then(|v| v.as_f64());
    value.ok_or_else(|| Error::input(format!("this is no texture or buffer: it has no {name}")))
}

/// A texture of the browser, and what it holds.
fn texture(gpu: &Gpu, texture: &JsValue) -> Result<(wgpu::Texture, Element)> {
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
    let number = |name| number(texture, name).map(|n| n as u32);
    let descriptor = wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d {
            width: number("width")?,
            height: number("height")?,
            depth_or_array_layers: 1,
        },
        mip_level_count: number("mipLevelCount")?,
        sample_count: number("sampleCount")?,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::from_bits_truncate(number("usage")?),
        view_formats: &[],
    };
    let own: GpuTexture = texture.clone().unchecked_into();
    let device = gpu.device();
    Ok((
        device.create_texture_from_webgpu_handle(own, &descriptor, None),
        element,
    ))
}

/// A buffer of the browser. wgpu takes no buffers that it has not asked for; so while it asks, the device gives it this one.
fn buffer(gpu: &Gpu, buffer: &JsValue) -> Result<wgpu::Buffer> {
    let descriptor = wgpu::BufferDescriptor {
        label: None,
        size: number(buffer, "size")? as u64,
        usage: wgpu::BufferUsages::from_bits_truncate(number(buffer, "usage")? as u32),
        mapped_at_creation: false,
    };
    let given = buffer.clone();
    let give = Closure::<dyn Fn() -> JsValue>::new(move || given.clone());
    let device: JsValue = gpu.device().as_webgpu().into();
    let shadowed = crate::browser::shadow(&device, "createBuffer", give.as_ref());
    let made = shadowed.then(|| gpu.device().create_buffer(&descriptor));
    crate::browser::uncover(&device, "createBuffer");
    made.ok_or_else(|| Error::unsupported("this browser's devices cannot be extended"))
}

/// Memory of the page by layer.
enum Memory {
    /// All of one format.
    Textures(Element, Size),
    /// Planes of single floats, one after the other.
    Buffers(Size),
}

impl Memory {
    fn size(&self) -> Size {
        match self {
            Self::Textures(_, size) | Self::Buffers(size) => *size,
        }
    }

    /// The memory of a layer.
    fn of(&self, gpu: &Gpu, layer: &str, given: &JsValue) -> Result<Resource> {
        let Self::Textures(element, _) = self else {
            return Ok((&buffer(gpu, given)?).into());
        };
        let (texture, own) = texture(gpu, given)?;
        match own == *element {
            true => Ok((&texture).into()),
            false => Err(Error::input(format!(
                "{layer}: all textures need one format"
            ))),
        }
    }

    fn plan(&self, gpu: &Gpu, plan: Plan) -> Plan {
        match self {
            Self::Textures(element, _) => plan.on_textures(*element),
            Self::Buffers(_) => plan.with_bindings(gpu.target().storage_buffers as usize),
        }
    }
}

/// The first schedule that this device can run.
fn recorder(gpu: &Gpu, method: &dyn Method, shape: &Shape, memory: &Memory) -> Result<Inner> {
    let mut last = Error::unsupported("the method has no schedule for GPUs");
    let suited = |s: &Schedule| s.suits(DeviceLimits::Gpu(gpu.target()));
    for schedule in method.schedules(Backend::Gpu).iter().filter(|s| suited(s)) {
        match Inner::new(gpu, memory.plan(gpu, method.plan(shape, schedule)?)) {
            Ok(recorder) => return Ok(recorder),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Recorder {
    fn prepared(
        device: &Device,
        method: &str,
        settings: &Settings,
        inputs: &[(String, JsValue)],
        (output, memory): (&JsValue, Memory),
    ) -> Result<Self> {
        let gpu = gpu(device)?;
        let mut method = find(Use::Denoise, method)?;
        method.set_all(settings.given())?;
        let mut shape: Option<Shape> = None;
        let result = memory.of(gpu, "the result", output)?;
        let mut ports = LayerResources::default().output(Kind::Color, result);
        for (name, given) in inputs {
            let layer: Layer = name.parse()?;
            // Textures have three channels and one that nobody reads.
            let most = layer.kind.channels().iter().copied().max();
            let channels = most.unwrap_or(3).min(3);
            shape = Some(match shape {
                None if layer == Layer::COLOR => Shape::color(memory.size(), channels),
                None => return Err(Error::input("color comes first")),
                Some(shape) => shape.with(layer.clone(), channels),
            });
            ports = ports.input(layer, memory.of(gpu, name, given)?);
        }
        let shape = shape.ok_or_else(|| Error::input("no inputs"))?;
        let inner = recorder(gpu, method.as_ref(), &shape, &memory)?;
        let bindings = inner.bind(&ports)?;
        Ok(Self {
            gpu: gpu.clone(),
            inner,
            bindings,
            fresh: true,
        })
    }
}

#[wasm_bindgen]
impl Recorder {
    /// Prepares a method for textures by layer, colour first; `output` gets the colour.
    pub fn textures(
        device: &Device,
        method: &str,
        settings: &Settings,
        layers: Vec<String>,
        inputs: Vec<JsValue>,
        output: &JsValue,
    ) -> Outcome<Recorder> {
        let (result, element) = texture(gpu(device)?, output)?;
        let size = Size::new(result.width() as usize, result.height() as usize);
        let inputs: Vec<_> = layers.into_iter().zip(inputs).collect();
        let memory = Memory::Textures(element, size);
        Ok(Self::prepared(
            device,
            method,
            settings,
            &inputs,
            (output, memory),
        )?)
    }

    /// The same for buffers of floats, the planes of a layer one after the other. The settings say the size.
    pub fn buffers(
        device: &Device,
        method: &str,
        settings: &Settings,
        layers: Vec<String>,
        inputs: Vec<JsValue>,
        output: &JsValue,
    ) -> Outcome<Recorder> {
        let size = settings.size();
        let size = size.ok_or_else(|| Error::input("buffers need a width and a height"))?;
        let inputs: Vec<_> = layers.into_iter().zip(inputs).collect();
        let memory = Memory::Buffers(size);
        Ok(Self::prepared(
            device,
            method,
            settings,
            &inputs,
            (output, memory),
        )?)
    }

    /// Submits the work for the next frame, after what was submitted to the device before.
    pub fn run(&mut self) -> Outcome<()> {
        let mut encoder = self
            .gpu
            .device()
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        if std::mem::take(&mut self.fresh) {
            self.inner.reset(&mut encoder);
        }
        self.inner.record(&mut encoder, &self.bindings)?;
        self.gpu.queue().submit([encoder.finish()]);
        Ok(())
    }

    /// Forgets earlier frames.
    pub fn reset(&mut self) {
        self.fresh = true;
    }
}
