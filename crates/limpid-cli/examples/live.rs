//! Denoising as an engine does it: with its own device, its own textures and its own encoder.
//!
//! A small path tracer stands for the engine: it renders `corridor`, one sample per pixel, and uploads each frame to
//! textures. The plan is recorded into the frame's encoder, and the result is in a texture again. There is no window; what a
//! pass takes is printed for each frame.
//!
//! ```sh
//! cargo run --release --example live -- 320x180 60
//! ```
//!
//! Type the number of a schedule and Enter to switch to it while frames go by.

use anyhow::Result;
use limpid::exec::gpu::{Bindings, Gpu, Recorder, Resource};
use limpid::method::{Backend, Method, Schedule, Svgf};
use limpid::plan::{Element, Home, Role};
use limpid::{Frame, Image, Part, Size};
use limpid_scenes::{RenderOptions, Scene, builtin_world, render};
use std::sync::mpsc::{Receiver, channel};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let size: Size = args.next().unwrap_or("160x90".into()).parse()?;
    let count: u32 = args.next().unwrap_or("8".into()).parse()?;
    let gpu = pollster::block_on(engine_device())?;
    println!("{}", gpu.name());
    let method = Svgf::default();
    let schedules = method.schedules(Backend::Gpu);
    for (i, schedule) in schedules.iter().enumerate() {
        println!("{i}: {schedule}");
    }
    let keys = keys();
    let mut stage: Option<Stage> = None;
    for number in 0..count {
        let frame = engine_frame(size, number)?;
        let chosen = keys.try_iter().last().and_then(|k| schedules.get(k));
        if stage.is_none() || chosen.is_some() {
            stage = Some(Stage::new(
                &gpu,
                &method,
                &frame,
                chosen.unwrap_or(&schedules[0]),
            )?);
        }
        if let Some(stage) = &stage {
            stage.show(&gpu, number, &frame)?;
        }
    }
    Ok(())
}

/// The engine's device. It needs no feature for denoising; timestamps are for what is printed here.
async fn engine_device() -> Result<Gpu> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = instance.request_adapter(&Default::default()).await?;
    let desc = wgpu::DeviceDescriptor {
        required_features: adapter.features() & wgpu::Features::TIMESTAMP_QUERY,
        required_limits: adapter.limits(),
        ..Default::default()
    };
    let (device, queue) = adapter.request_device(&desc).await?;
    Ok(Gpu::from_wgpu(&adapter, device, queue))
}

/// What the engine renders.
fn engine_frame(size: Size, number: u32) -> Result<Frame> {
    let time = number as f32;
    let scene = Scene::new(
        &builtin_world("corridor", time)?,
        Some(&builtin_world("corridor", time - 1.0)?),
    )?;
    let options = RenderOptions {
        size,
        samples: 1,
        frame: u64::from(number),
        ..RenderOptions::default()
    };
    let rendered = render(&scene, &options)?;
    let mut means = Frame::empty(size)?;
    for (layer, image) in rendered.layers().filter(|(l, _)| l.part == Part::Mean) {
        means.insert(layer.clone(), image.clone())?;
    }
    Ok(means)
}

/// Numbers typed on the terminal.
fn keys() -> Receiver<usize> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let Ok(number) = line.trim().parse() else {
                continue;
            };
            if send.send(number).is_err() {
                break;
            }
        }
    });
    receive
}

/// Everything that is made once: the recorder, the engine's textures, the bindings between them, and timestamps.
struct Stage {
    recorder: Recorder,
    textures: Vec<Option<wgpu::Texture>>,
    bindings: Bindings,
    timer: Option<(wgpu::QuerySet, wgpu::Buffer, wgpu::Buffer)>,
}

impl Stage {
    fn new(gpu: &Gpu, method: &Svgf, frame: &Frame, schedule: &Schedule) -> Result<Self> {
        println!("schedule {schedule}");
        let plan = method.plan(&frame.shape(), schedule)?;
        let recorder = Recorder::new(gpu, plan.on_textures(Element::F32x4))?;
        let slots = &recorder.plan().slots;
        let textures: Vec<_> = slots
            .iter()
            .map(|s| (s.home == Home::Texture).then(|| texture(gpu, s.size)))
            .collect();
        let view = |t: &wgpu::Texture| Resource::Texture(t.create_view(&Default::default()));
        let bindings = recorder.bind(|id| textures[id.0].as_ref().map(view))?;
        let passes = recorder.plan().passes().len() as u32;
        let timer = gpu.timestamps().then(|| timer(gpu, 2 * passes));
        Ok(Self {
            recorder,
            textures,
            bindings,
            timer,
        })
    }

    /// One frame: the engine's upload, the denoiser's passes, one submit.
    fn show(&self, gpu: &Gpu, number: u32, frame: &Frame) -> Result<()> {
        for (slot, texture) in self.recorder.plan().slots.iter().zip(&self.textures) {
            if let (Role::Input(layer), Some(texture)) = (&slot.role, texture) {
                upload(gpu, texture, frame.require(layer.clone())?);
            }
        }
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        match &self.timer {
            None => self.recorder.record(&mut encoder, &self.bindings),
            Some((queries, resolved, read)) => {
                self.recorder
                    .record_timed(&mut encoder, &self.bindings, queries);
                encoder.resolve_query_set(queries, 0..queries_in(resolved), resolved, 0);
                encoder.copy_buffer_to_buffer(resolved, 0, read, 0, resolved.size());
            }
        }
        gpu.queue().submit([encoder.finish()]);
        let Some((_, _, read)) = &self.timer else {
            println!("frame {number}");
            return Ok(());
        };
        read.slice(..).map_async(wgpu::MapMode::Read, drop);
        gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        let bytes = read.slice(..).get_mapped_range()?;
        let ticks: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|b| u64::from_le_bytes(b.try_into().unwrap_or_default()))
            .collect();
        drop(bytes);
        read.unmap();
        let unit = f64::from(gpu.queue().get_timestamp_period()) / 1e6;
        let ms: Vec<f64> = ticks
            .chunks_exact(2)
            .map(|t| t[1].saturating_sub(t[0]) as f64 * unit)
            .collect();
        print!("frame {number}: {:.3} ms =", ms.iter().sum::<f64>());
        for (pass, ms) in self.recorder.plan().passes().iter().zip(ms) {
            print!(" {} {ms:.3}", pass.kernel.name());
        }
        println!();
        Ok(())
    }
}

fn texture(gpu: &Gpu, size: Size) -> wgpu::Texture {
    use wgpu::TextureUsages as Usage;
    gpu.device().create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: extent(size),
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba32Float,
        usage: Usage::TEXTURE_BINDING | Usage::STORAGE_BINDING | Usage::COPY_DST,
        view_formats: &[],
    })
}

fn extent(size: Size) -> wgpu::Extent3d {
    wgpu::Extent3d {
        width: size.width as u32,
        height: size.height as u32,
        depth_or_array_layers: 1,
    }
}

fn upload(gpu: &Gpu, texture: &wgpu::Texture, image: &Image) {
    let mut texels = Vec::with_capacity(16 * image.size().pixels());
    for i in 0..image.size().pixels() {
        for c in 0..4 {
            let value = (c < image.channels()).then(|| image.plane(c)[i]);
            texels.extend(value.unwrap_or(0.0).to_le_bytes());
        }
    }
    let layout = wgpu::TexelCopyBufferLayout {
        offset: 0,
        bytes_per_row: Some(16 * image.width() as u32),
        rows_per_image: None,
    };
    gpu.queue().write_texture(
        texture.as_image_copy(),
        &texels,
        layout,
        extent(image.size()),
    );
}

fn queries_in(resolved: &wgpu::Buffer) -> u32 {
    (resolved.size() / 8) as u32
}

fn timer(gpu: &Gpu, count: u32) -> (wgpu::QuerySet, wgpu::Buffer, wgpu::Buffer) {
    use wgpu::BufferUsages as Usage;
    let queries = gpu.device().create_query_set(&wgpu::QuerySetDescriptor {
        label: None,
        ty: wgpu::QueryType::Timestamp,
        count,
    });
    let buffer = |usage| {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 8 * u64::from(count),
            usage,
            mapped_at_creation: false,
        })
    };
    (
        queries,
        buffer(Usage::QUERY_RESOLVE | Usage::COPY_SRC),
        buffer(Usage::COPY_DST | Usage::MAP_READ),
    )
}
