//! An engine with its own wgpu device: SVGF recorded into its command encoder, on its textures.
//! `cargo run --release -p limpid --example recorder`
//!
//! The engine makes the device, the textures and the encoder, and submits; Limpid only records.

use limpid::exec::gpu::{Gpu, LayerResources, Recorder};
use limpid::method::{Backend, Method, Svgf};
use limpid::plan::Element;
use limpid::{Kind, Layer, Shape, Size, wgpu};

const SIZE: Size = Size::new(320, 180);
/// The layers that the engine renders, with their channels.
const INPUTS: [(Kind, usize); 5] = [
    (Kind::Color, 3),
    (Kind::Albedo, 3),
    (Kind::Normal, 3),
    (Kind::Depth, 1),
    (Kind::Motion, 2),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What an engine has: an adapter, a device, a queue.
    let instance = wgpu::Instance::default();
    let adapter =
        pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        // More than the defaults makes more schedules possible; SVGF on textures needs no more than eight storage buffers.
        required_limits: adapter.limits(),
        ..Default::default()
    }))?;
    let gpu = Gpu::from_wgpu(&adapter, device.clone(), queue.clone());

    // Once, and again when the size changes: plan, shaders, memory.
    let mut shape = Shape::color(SIZE, 3);
    for (kind, channels) in INPUTS {
        shape = shape.with(kind, channels);
    }
    let method = Svgf::default();
    let schedule = method.schedules(Backend::Gpu).remove(0);
    let plan = method.plan(&shape, &schedule)?.on_textures(Element::F32x4);
    let recorder = Recorder::new(&gpu, plan)?;

    // The engine's textures: four channels, the layer's first.
    let textures = INPUTS.map(|(kind, _)| (Layer::from(kind), texture(&device)));
    let result = texture(&device);
    let mut ports = LayerResources::default().output(Kind::Color, &result);
    for (layer, texture) in &textures {
        ports = ports.input(layer.clone(), texture);
    }
    let bindings = recorder.bind(&ports)?;

    for frame in 0..4 {
        // The engine renders into its textures here.
        let mut encoder = device.create_command_encoder(&Default::default());
        if frame == 0 {
            // At the beginning and after a cut there is no history.
            recorder.reset(&mut encoder);
        }
        recorder.record(&mut encoder, &bindings)?;
        // The engine shows `result` here.
        queue.submit([encoder.finish()]);
    }
    device.poll(wgpu::PollType::wait_indefinitely())?;
    println!("four frames of {SIZE} by {schedule} on {}", gpu.name());
    Ok(())
}

fn texture(device: &wgpu::Device) -> wgpu::Texture {
    use wgpu::TextureUsages as Usage;
    device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d {
            width: SIZE.width as u32,
            height: SIZE.height as u32,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba32Float,
        usage: Usage::TEXTURE_BINDING | Usage::STORAGE_BINDING | Usage::RENDER_ATTACHMENT,
        view_formats: &[],
    })
}
