//! Denoising as an engine does it: with its own device, its own textures and its own encoder.
//!
//! A small path tracer stands for the engine: it renders `corridor`, one sample per pixel, and uploads each frame to
//! textures. The plan is recorded into the frame's encoder, and the result is in a texture again, which is shown in a window.
//! Where there is no display, or no window was asked for, frames go by without one, and what each pass takes is printed.
//!
//! ```sh
//! cargo run --release --example live --features window -- 320x180
//! cargo run --release --example live -- 320x180 60
//! ```
//!
//! In the window: a number switches to that schedule, N shows the noisy frame, R forgets all frames, Escape ends. On the terminal:
//! the number of a schedule and Enter.

mod stage;
#[cfg(feature = "window")]
mod window;

use anyhow::Result;
use limpid::exec::gpu::Gpu;
use limpid::method::{Backend, Method, Svgf};
use limpid::{Frame, Part, Size};
use limpid_scenes::{RenderOptions, Scene, builtin_world, render};
use stage::Stage;
use std::sync::mpsc::{Receiver, channel};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let size: Size = args.next().unwrap_or("160x90".into()).parse()?;
    let count: Option<u32> = args.next().map(|n| n.parse()).transpose()?;
    #[cfg(feature = "window")]
    match window::run(size, count.unwrap_or(u32::MAX)) {
        Ok(()) => return Ok(()),
        Err(error) => eprintln!("no window: {error}"),
    }
    off_screen(size, count.unwrap_or(60))
}

fn off_screen(size: Size, count: u32) -> Result<()> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = pollster::block_on(instance.request_adapter(&Default::default()))?;
    let gpu = engine_device(&adapter)?;
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
        let stage = match (&mut stage, chosen) {
            (Some(stage), None) => stage,
            (stage, chosen) => {
                let schedule = chosen.unwrap_or(&schedules[0]);
                stage.insert(Stage::new(&gpu, &method, &frame, schedule)?)
            }
        };
        let times = stage.frame(&gpu, &frame, |_| {})?;
        println!("{}", stage::line(number, &times));
    }
    Ok(())
}

/// The engine's device. It needs no feature for denoising; timestamps are for what is printed here.
fn engine_device(adapter: &wgpu::Adapter) -> Result<Gpu> {
    let desc = wgpu::DeviceDescriptor {
        required_features: adapter.features() & wgpu::Features::TIMESTAMP_QUERY,
        required_limits: adapter.limits(),
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&desc))?;
    Ok(Gpu::from_wgpu(adapter, device, queue))
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
