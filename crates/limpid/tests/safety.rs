//! Safe code cannot make a GPU read or write outside its memory.

#![cfg(feature = "gpu")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[expect(dead_code, reason = "only frames are needed here")]
mod support;

use limpid::exec::Runner;
use limpid::exec::gpu::{GpuRunner, Recorder, Resource};
use limpid::kernel::{Contract, Dispatch, Job, Kernel, Site};
use limpid::method::{Atrous, Backend, Method};
use limpid::plan::{Element, Plan};
use limpid::{Device, Frame, Image, Layer, Result, Size, Watch};
use support::frame;

const SIZE: Size = Size::new(64, 48);

const EXTENT: wgpu::Extent3d = wgpu::Extent3d {
    width: 64,
    height: 48,
    depth_or_array_layers: 1,
};

/// Memory that is too small for its slot, or of another kind, is rejected.
#[test]
fn memory_that_does_not_fit_is_refused() {
    for device in Device::all_for_tests().unwrap() {
        let Device::Gpu(gpu) = &device else { continue };
        let buffer = |size: u64, usage| {
            Resource::Buffer(gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            }))
        };
        let view = |size: wgpu::Extent3d, format, levels| {
            let texture = gpu.device().create_texture(&wgpu::TextureDescriptor {
                label: None,
                size,
                mip_level_count: levels,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::STORAGE_BINDING,
                view_formats: &[],
            });
            let one = wgpu::TextureViewDescriptor {
                mip_level_count: Some(1),
                ..Default::default()
            };
            Resource::Texture(texture.create_view(&one))
        };
        let storage = wgpu::BufferUsages::STORAGE;
        let refused = |recorder: &Recorder, resource: Resource, what: &str| {
            let told = recorder.bind_slots(|_| Some(resource.clone())).unwrap_err();
            assert!(told.to_string().contains(what), "{told}");
        };
        let planes = Recorder::new(gpu, beyond()).unwrap();
        let bytes = 4 * SIZE.pixels() as u64;
        refused(&planes, buffer(bytes - 4, storage), "the plan needs");
        refused(
            &planes,
            buffer(bytes, wgpu::BufferUsages::COPY_DST),
            "usage",
        );
        let rgba = wgpu::TextureFormat::Rgba32Float;
        refused(&planes, view(EXTENT, rgba, 1), "needs a buffer");
        let method = Atrous::default();
        let schedule = method.schedules(Backend::Gpu).remove(0);
        let plan = method.plan(&frame(SIZE).shape(), &schedule).unwrap();
        let textures = Recorder::new(gpu, plan.on_textures(Element::F32x4)).unwrap();
        refused(&textures, buffer(1 << 20, storage), "needs a texture");
        let half = wgpu::TextureFormat::Rgba16Float;
        refused(&textures, view(EXTENT, half, 1), "Rgba16Float");
        let mut small = EXTENT;
        small.height -= 1;
        refused(&textures, view(small, rgba, 1), "64x47");
        refused(&textures, view(EXTENT, rgba, 2), "levels");
    }
}

/// The memory of a small plan must not be bound to the shaders of a large one.
#[test]
fn bindings_of_another_recorder_are_refused() {
    for device in Device::all_for_tests().unwrap() {
        let Device::Gpu(gpu) = &device else { continue };
        let method = Atrous::default();
        let recorder = |size: Size| {
            let schedule = method.schedules(Backend::Gpu).remove(0);
            Recorder::new(gpu, method.plan(&frame(size).shape(), &schedule).unwrap()).unwrap()
        };
        let (small, large) = (recorder(Size::new(16, 16)), recorder(SIZE));
        let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 1 << 16,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let bindings = small.bind_slots(|_| Some(Resource::Buffer(buffer.clone())));
        let bindings = bindings.unwrap();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let error = large.record(&mut encoder, &bindings).unwrap_err();
        assert!(error.to_string().contains("another recorder"), "{error}");
        small.record(&mut encoder, &bindings).unwrap();
    }
}

/// Reads and writes far beyond its slots.
#[derive(Debug)]
struct Beyond;

impl Kernel for Beyond {
    fn name(&self) -> &'static str {
        "beyond"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, _job: &mut Job<'_>) {}

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let source = format!(
            "{}struct Params {{ far: u32 }}
@group(0) @binding(0) var<uniform> p: Params;
@compute @workgroup_size(1)
fn main() {{ write0[p.far] = 1.0 + read0[p.far]; }}
",
            site.slots()
        );
        Ok(Dispatch::compute(source, &0x3000_0000u32, [1; 3]))
    }
}

fn beyond() -> Plan {
    let mut plan = Plan::new("beyond", SIZE);
    let (input, output) = (plan.input(Layer::COLOR, 1), plan.output(Layer::COLOR, 1));
    plan.pass(Beyond, [input], [output]);
    plan
}

/// A kernel of another crate cannot access other memory, even on a device that is not opened for tests.
#[test]
fn kernels_from_outside_are_checked() {
    let plain = Device::open_with("gpu", None, false).unwrap();
    let Device::Gpu(gpu) = &plain else {
        panic!("a GPU was asked for");
    };
    let mut runner = GpuRunner::new(gpu, beyond()).unwrap();
    let frame = Frame::new(Image::new(SIZE.width, SIZE.height, 1)).unwrap();
    let mut out = frame.clone();
    runner.run(&frame, &mut out, &Watch::default()).unwrap();
    let known = [0.0, 1.0];
    assert!(
        out.color()
            .unwrap()
            .data()
            .iter()
            .all(|v| known.contains(v))
    );
}
