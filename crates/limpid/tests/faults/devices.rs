//! Devices that fail: exhausted memory, a lost device, a driver that does not respond.

use crate::support::{self, frame};
use limpid::exec::gpu::{Gpu, GpuRunner};
use limpid::exec::{Runner, Watch};
use limpid::kernel::{Contract, Dispatch, Job, Kernel, PassSlots};
use limpid::method::{Entry, Gaussian, METHODS};
use limpid::plan::Plan;
use limpid::{
    Denoiser, Device, DeviceFault, Error, Frame, Image, Layer, Options, Result, Sequence, Size,
};
use std::time::{Duration, Instant};

const SIZE: Size = Size::new(192, 128);

fn open() -> (Device, Gpu) {
    let device = Device::open_with("gpu", None, true).unwrap();
    match &device {
        Device::Gpu(gpu) => (device.clone(), gpu.clone()),
        Device::Cpu(_) => panic!("a GPU was asked for"),
    }
}

fn fault<T: std::fmt::Debug>(result: Result<T>) -> DeviceFault {
    match result.unwrap_err() {
        Error::Device { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

/// Work that does not fit runs in tiles with the same result; if there are no tiles it is an error, and the device stays
/// usable.
#[test]
fn short_memory_leads_to_tiles_or_an_error() {
    let (device, gpu) = open();
    let frame = frame(Size::new(384, 256));
    let taken = || {
        let report = gpu.device().generate_allocator_report();
        report.map_or(0, |r| r.total_allocated_bytes)
    };
    let options = Options::new(Gaussian::default());
    let mut whole = Denoiser::new(&device, &frame.shape(), &options).unwrap();
    let (expected, most) = (whole.run(&frame).unwrap(), taken());
    drop(whole);
    gpu.device()
        .poll(wgpu::PollType::wait_indefinitely())
        .unwrap();
    gpu.limit_memory(Some(most * 2 / 3));
    let mut sequence = Sequence::new(&device, &options);
    for _ in 0..3 {
        let out = sequence.run(&frame, &Watch::default()).unwrap();
        support::compare("tiles", "filter:gaussian", &expected, &out);
    }
    let mut denoiser = Denoiser::new(&device, &frame.shape(), &options).unwrap();
    assert!(denoiser.tile_count() > 1);
    assert!(denoiser.update(&options).unwrap());
    support::compare(
        "tiles",
        "filter:gaussian",
        &expected,
        &denoiser.run(&frame).unwrap(),
    );
    // Nothing fits.
    gpu.limit_memory(Some(1));
    // Shaders of others take minutes to build on a software device.
    let quick = |e: &&Entry| ["gaussian", "tent", "taa"].contains(&e.name);
    for entry in METHODS.iter().filter(quick) {
        let method = (entry.make)().prepared(&frame).unwrap();
        let made = Denoiser::new(&device, &frame.shape(), &Options::of(method));
        let fault = fault(made);
        assert!(
            matches!(fault, DeviceFault::OutOfMemory(_)),
            "{}: {fault}",
            entry.name
        );
    }
    gpu.limit_memory(None);
    let again = Denoiser::new(&device, &frame.shape(), &options)
        .unwrap()
        .run(&frame)
        .unwrap();
    support::compare("again", "filter:gaussian", &expected, &again);
}

/// Every call of every denoiser of the device reports the loss; another device works.
#[test]
fn a_lost_device_stays_lost() {
    let (device, gpu) = open();
    let frame = frame(SIZE);
    let options = Options::new(Gaussian::default());
    let mut denoiser = Denoiser::new(&device, &frame.shape(), &options).unwrap();
    let mut other = Denoiser::new(&device, &frame.shape(), &options).unwrap();
    denoiser.run(&frame).unwrap();
    gpu.device().destroy();
    for _ in 0..2 {
        for denoiser in [&mut denoiser, &mut other] {
            let fault = fault(denoiser.run(&frame));
            assert!(matches!(fault, DeviceFault::Lost(_)), "{fault}");
        }
    }
    let fault = fault(Denoiser::new(&device, &frame.shape(), &options));
    assert!(matches!(fault, DeviceFault::Lost(_)), "{fault}");
    let (device, _) = open();
    Denoiser::new(&device, &frame.shape(), &options)
        .unwrap()
        .run(&frame)
        .unwrap();
}

/// Runs for a long time in this many workgroups: software drivers end loops after 65 535 steps.
#[derive(Debug)]
struct Slow(u32);

impl Kernel for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, _job: &mut Job<'_>) {}

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let source = format!(
            "{}struct Params {{ steps: u32 }}
@group(0) @binding(0) var<uniform> p: Params;
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) group: vec3<u32>) {{
    var x = u32(read0[0]) + group.x;
    for (var i = 0u; i < p.steps; i++) {{ x = x * 1664525u + 1013904223u + (x >> 7u); }}
    write0[group.x % 16u] = f32(x);
}}
",
            pass.wgsl()
        );
        Ok(Dispatch::compute(source, &60_000u32, [self.0, 1, 1]))
    }
}

fn slow(gpu: &Gpu, rounds: u32) -> (GpuRunner, Frame) {
    let mut plan = Plan::new("slow", Size::new(4, 4));
    let (input, output) = (plan.input(Layer::COLOR, 1), plan.output(Layer::COLOR, 1));
    plan.pass(Slow(rounds), [input], [output]);
    let frame = Frame::new(Image::new(4, 4, 1)).unwrap();
    (GpuRunner::new(gpu, plan).unwrap(), frame)
}

/// A driver that does not respond within the timeout is an error; then the device is lost, and nothing waits for it.
#[test]
fn a_driver_that_hangs_is_given_up() {
    let (_, gpu) = open();
    let (mut quick, frame) = slow(&gpu, 10);
    quick
        .run(&frame, &mut frame.clone(), &Watch::default())
        .unwrap();
    let (mut runner, frame) = slow(&gpu, 60_000);
    gpu.set_timeout(Duration::from_millis(300));
    let begin = Instant::now();
    let fault = fault(runner.run(&frame, &mut frame.clone(), &Watch::default()));
    assert!(matches!(fault, DeviceFault::Timeout(_)), "{fault}");
    let again = quick.run(&frame, &mut frame.clone(), &Watch::default());
    assert!(again.is_err());
    drop((runner, quick, gpu));
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
}

/// Work can be cancelled while the device is busy with it.
#[test]
fn waiting_for_a_device_can_be_stopped() {
    let (_, gpu) = open();
    // Long enough to be cancelled, short enough for the device to be closed at the end.
    let (mut runner, frame) = slow(&gpu, 12_000);
    let watch = Watch::default();
    let stop = watch.stop_flag();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(150));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let begin = Instant::now();
    let stopped = runner.run(&frame, &mut frame.clone(), &watch);
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    assert!(
        begin.elapsed() < Duration::from_millis(1500),
        "{:?}",
        begin.elapsed()
    );
    stopper.join().unwrap();
    // The next run waits for the first and returns its own result.
    runner
        .run(&frame, &mut frame.clone(), &Watch::default())
        .unwrap();
}
