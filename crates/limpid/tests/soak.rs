//! Long runs: memory, files, threads and pipelines do not grow, and frames do not slow down, even if frames of other sizes and
//! layers occur in between. A few frames by default; `cargo xtask soak --minutes N` runs longer and prints the results.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[expect(dead_code, reason = "only frames are needed here")]
mod support;

use limpid::exec::cpu::Cpu;
use limpid::method::{Atrous, Film, Method, Nlm, Svgf, Taa};
use limpid::{Device, Frame, Kind, Options, Part, Sequence, Size, Watch};
use std::fmt;
use std::time::{Duration, Instant};

/// The size of most frames.
const SIZE: Size = Size::new(64, 48);

/// The sizes in between.
const OTHERS: [Size; 4] = [
    Size::new(33, 70),
    Size::new(1, 1),
    Size::new(128, 64),
    Size::new(65, 48),
];

/// Memory may grow by this share, and by this much for pages that the system reclaims late.
const SHARE: f64 = 0.02;
const SLACK: u64 = 1 << 20;

/// Frames at the end may take this many times the processor time of those at the beginning.
const SLOWER: f64 = 1.3;

/// The resources of a process.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Bytes of memory in use.
    memory: u64,
    files: usize,
    threads: usize,
    pipelines: usize,
    /// Bytes allocated by the GPU's allocator.
    device: u64,
}

impl Held {
    fn now(device: &Device) -> Self {
        let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
        let (pipelines, bytes) = match device {
            Device::Cpu(_) => (0, 0),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => {
                let report = gpu.device().generate_allocator_report();
                let bytes = report.map_or(0, |r| r.total_allocated_bytes);
                (gpu.pipelines_built(), bytes)
            }
        };
        Self {
            memory: pages * 4096,
            files: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            pipelines,
            device: bytes,
        }
    }

    /// Checks which resources have grown.
    fn check(&self, first: &Self, name: &str) {
        let most = |bytes: u64| bytes + (SHARE * bytes as f64) as u64 + SLACK;
        let grown = format!("{name}: {first} at first, {self} at last");
        assert!(self.memory <= most(first.memory), "{grown}");
        assert!(self.device <= most(first.device), "{grown}");
        assert!(self.files <= first.files, "{grown}");
        assert!(self.threads <= first.threads, "{grown}");
        assert!(self.pipelines <= first.pipelines, "{grown}");
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        write!(
            f,
            "{:.1} MiB, {:.2} MiB of the device, {} files, {} threads, {} pipelines",
            mib(self.memory),
            mib(self.device),
            self.files,
            self.threads,
            self.pipelines
        )
    }
}

/// Processor time of all threads so far: hardly affected by other programs.
fn busy() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name in brackets may hold spaces; user and system time are the 12th and 13th number after it.
    let numbers = text.rsplit(')').next().unwrap().split_whitespace();
    let ticks: u64 = numbers
        .skip(11)
        .take(2)
        .map(|n| n.parse::<u64>().unwrap())
        .sum();
    Duration::from_millis(10 * ticks)
}

/// Frames of a film: brightness changes, so that the measurements of methods change.
fn film(size: Size, only_some: bool) -> Vec<Frame> {
    let whole = support::frame(size);
    let needed = [Kind::Color, Kind::Normal, Kind::Depth];
    let film = (0..5).map(|t| {
        let mut frame = Frame::empty(size).unwrap();
        for (layer, image) in whole.layers() {
            if only_some && (layer.part != Part::Mean || !needed.contains(&layer.kind)) {
                continue;
            }
            let gain = match layer.kind {
                Kind::Color => 1.0 + 0.05 * t as f32,
                _ => 1.0,
            };
            frame
                .insert(layer.clone(), image.map(|v| gain * v))
                .unwrap();
        }
        frame
    });
    film.collect()
}

fn methods() -> Vec<Box<dyn Method>> {
    vec![
        Box::new(Svgf::default()),
        Box::new(Taa::default()),
        Box::new(Film::default()),
        Box::new(Atrous::default()),
        Box::new(Nlm::default()),
    ]
}

/// Rounds until the time is over: many frames of one size, then a few of others.
fn soak(device: &Device, method: Box<dyn Method>, time: Option<Duration>) {
    let watch = Watch::default();
    let usual = film(SIZE, false);
    let others: Vec<Vec<Frame>> = (0..2 * OTHERS.len())
        .map(|i| film(OTHERS[i % OTHERS.len()], i >= OTHERS.len()))
        .collect();
    let name = format!("{} on {}", method.name(), device.name());
    let mut sequence = Sequence::new(device, &Options::of(method));
    let mut push = |frame: &Frame| drop(sequence.push(frame, &watch).unwrap());
    let steady = if time.is_some() { 200 } else { 20 };
    let begin = Instant::now();
    let mut first: Option<Held> = None;
    let mut times = Vec::new();
    let mut count = 0;
    loop {
        let before = busy();
        for t in 0..steady {
            push(&usual[t % usual.len()]);
        }
        times.push((busy() - before).as_secs_f64() / steady as f64);
        for frame in others.iter().flat_map(|film| &film[..2]) {
            push(frame);
        }
        push(&usual[0]);
        count += steady + 2 * others.len() + 1;
        let held = Held::now(device);
        // Two rounds of warm-up: memory pools fill, shaders are compiled, and threads have seen every size.
        match &first {
            None if times.len() >= 3 => first = Some(held),
            None => {}
            Some(first) => held.check(first, &name),
        }
        let over = time.map_or(times.len() >= 5, |time| {
            begin.elapsed() > time && times.len() >= 12
        });
        if over {
            break;
        }
    }
    let (Some(first), Some(_)) = (first, time) else {
        return;
    };
    // The fastest round of each end: another program on the same core slows all of them down.
    let fifth = (times.len() / 5).max(3);
    let fastest = |part: &[f64]| 1e3 * part.iter().copied().fold(f64::INFINITY, f64::min);
    let (early, late) = (
        fastest(&times[1..1 + fifth]),
        fastest(&times[times.len() - fifth..]),
    );
    let last = Held::now(device);
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{name}: {count} frames in {seconds:.0} s; {early:.2} ms of processor time a frame at first, {late:.2} at last; {first} at first, {last} at last"
    );
    assert!(
        late <= SLOWER * early,
        "{name}: {late:.2} ms a frame, {early:.2} at first"
    );
}

#[test]
fn long_runs_stay_as_they_are() {
    let minutes: Option<f64> = std::env::var("LIMPID_SOAK")
        .ok()
        .map(|t| t.parse().unwrap());
    let mut devices = vec![Device::Cpu(Cpu::new(Some(2)).unwrap())];
    if cfg!(feature = "gpu") {
        devices.push(Device::open("gpu").unwrap());
    }
    let cases = devices.len() * methods().len();
    let time = minutes.map(|m| Duration::from_secs_f64(60.0 * m / cases as f64));
    for device in &devices {
        for method in methods() {
            // Shaders take minutes to build on a software device.
            let slow = !matches!(device, Device::Cpu(_)) && method.name() != "taa";
            if slow && minutes.is_none() {
                continue;
            }
            soak(device, method, time);
        }
    }
}
