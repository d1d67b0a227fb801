//! An engine records a plan into its own encoder, with its own textures: nothing is allocated, built or submitted there.

#![cfg(feature = "gpu")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support;

use limpid::exec::gpu::{Gpu, Recorder, Resource};
use limpid::method::{Backend, Method, Svgf};
use limpid::plan::{Element, Home, Role};
use limpid::{Denoiser, Device, Frame, Image, Layer, Options, Size};
use support::frame;

const SIZE: Size = Size::new(64, 48);

fn texture(gpu: &Gpu) -> wgpu::Texture {
    use wgpu::TextureUsages as Usage;
    gpu.device().create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: extent(),
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba32Float,
        usage: Usage::TEXTURE_BINDING | Usage::STORAGE_BINDING | Usage::COPY_SRC | Usage::COPY_DST,
        view_formats: &[],
    })
}

fn extent() -> wgpu::Extent3d {
    wgpu::Extent3d {
        width: SIZE.width as u32,
        height: SIZE.height as u32,
        depth_or_array_layers: 1,
    }
}

fn upload(gpu: &Gpu, texture: &wgpu::Texture, image: &Image) {
    let mut texels = Vec::new();
    for i in 0..SIZE.pixels() {
        for c in 0..4 {
            let v = if c < image.channels() {
                image.plane(c)[i]
            } else {
                0.0
            };
            texels.extend(v.to_le_bytes());
        }
    }
    let layout = wgpu::TexelCopyBufferLayout {
        offset: 0,
        bytes_per_row: Some(16 * SIZE.width as u32),
        rows_per_image: None,
    };
    gpu.queue()
        .write_texture(texture.as_image_copy(), &texels, layout, extent());
}

fn download(
    gpu: &Gpu,
    texture: &wgpu::Texture,
    encoder: &mut wgpu::CommandEncoder,
) -> wgpu::Buffer {
    let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 16 * SIZE.pixels() as u64,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let to = wgpu::TexelCopyBufferInfo {
        buffer: &buffer,
        layout: wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(16 * SIZE.width as u32),
            rows_per_image: None,
        },
    };
    encoder.copy_texture_to_buffer(texture.as_image_copy(), to, extent());
    buffer
}

fn image(gpu: &Gpu, buffer: &wgpu::Buffer) -> Image {
    buffer
        .slice(..)
        .map_async(wgpu::MapMode::Read, |r| r.unwrap());
    gpu.device()
        .poll(wgpu::PollType::wait_indefinitely())
        .unwrap();
    let bytes = buffer.slice(..).get_mapped_range().unwrap();
    let word = |at: usize| f32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap());
    Image::from_fn(SIZE.width, SIZE.height, 3, |x, y, c| {
        word(4 * (y * SIZE.width + x) + c)
    })
}

/// The number of the next submission, and of the device's memory blocks.
fn counts(gpu: &Gpu) -> (String, Option<usize>, usize) {
    let report = gpu.device().generate_allocator_report();
    (
        format!("{:?}", gpu.queue().submit([])),
        report.map(|r| r.allocations.len()),
        gpu.pipelines_built(),
    )
}

#[test]
fn recording_takes_nothing_and_gives_the_denoisers_picture() {
    let method = Svgf {
        levels: 2,
        ..Svgf::default()
    };
    let frames = [frame(SIZE), frame(SIZE)];
    for device in Device::all_for_tests().unwrap() {
        let Device::Gpu(gpu) = &device else { continue };
        let schedule = method.schedules(Backend::Gpu).remove(0);
        let plan = method.plan(&frames[0].shape(), &schedule).unwrap();
        let recorder = Recorder::new(gpu, plan.on_textures(Element::F32x4)).unwrap();
        let outside: Vec<Option<wgpu::Texture>> = recorder
            .plan()
            .slots
            .iter()
            .map(|s| (s.home == Home::Texture).then(|| texture(gpu)))
            .collect();
        let view = |texture: &wgpu::Texture| texture.create_view(&Default::default());
        let bindings = recorder
            .bind(|id| outside[id.0].as_ref().map(|t| Resource::Texture(view(t))))
            .unwrap();
        let mut denoiser =
            Denoiser::new(&device, &frames[0].shape(), &Options::new(method.clone())).unwrap();
        for frame in &frames {
            let mut result = None;
            for (slot, texture) in recorder.plan().slots.iter().zip(&outside) {
                match (&slot.role, texture) {
                    (Role::Input(layer), Some(texture)) => {
                        upload(gpu, texture, frame.get(layer.clone()).unwrap());
                    }
                    (Role::Output(_), Some(texture)) => result = Some(texture),
                    _ => {}
                }
            }
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            // Uploads have memory of their own until they are done.
            gpu.queue().submit([]);
            gpu.device()
                .poll(wgpu::PollType::wait_indefinitely())
                .unwrap();
            let before = counts(gpu);
            recorder.record(&mut encoder, &bindings);
            let after = counts(gpu);
            assert_eq!((before.1, before.2), (after.1, after.2), "{}", gpu.name());
            assert_eq!(
                number(&before.0) + 1,
                number(&after.0),
                "a submit while recording"
            );
            let buffer = download(gpu, result.unwrap(), &mut encoder);
            gpu.queue().submit([encoder.finish()]);
            let want = denoiser.run(frame).unwrap();
            let mut got = Frame::empty(SIZE).unwrap();
            got.insert(Layer::COLOR, image(gpu, &buffer)).unwrap();
            support::compare("recorder", "svgf", &want, &got);
        }
    }
}

/// The number in the text of a submission's index.
fn number(text: &str) -> u64 {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}
