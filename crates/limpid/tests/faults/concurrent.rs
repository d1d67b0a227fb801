//! Many denoisers on many threads, several sharing one GPU, dropped in any order: each gives the same result as alone.

use crate::support::{self, frame};
use limpid::exec::cpu::Cpu;
use limpid::method::{Atrous, Film, Gaussian, Method, Nlm, Shrink, Svgf, Taa};
use limpid::{Denoiser, Device, Frame, Options, Sequence, Size, Watch};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const THREADS: usize = 8;

/// Methods of all kinds: with and without history, with shared tables, with repetitions.
fn method(device: &Device, i: usize) -> Box<dyn Method> {
    let kinds = match device {
        Device::Cpu(_) => 7,
        // Shaders take long to build on a software device.
        #[cfg(feature = "gpu")]
        Device::Gpu(_) => 2,
    };
    match i % kinds {
        0 => Box::new(Gaussian::default()),
        1 => Box::new(Taa::default()),
        2 => Box::new(Shrink::default()),
        3 => Box::new(Svgf::default()),
        4 => Box::new(Nlm::default()),
        5 => Box::new(Atrous::default()),
        _ => Box::new(Film::default()),
    }
}

fn size(i: usize) -> Size {
    [Size::new(33, 21), Size::new(16, 40), Size::new(1, 7)][i % 3]
}

/// Three frames, one after the other.
fn work(device: &Device, i: usize) -> Vec<Frame> {
    let frame = frame(size(i));
    let mut sequence = Sequence::new(device, &Options::of(method(device, i)));
    let run = |_| sequence.run(&frame, &Watch::default()).unwrap();
    (0..3).map(run).collect()
}

fn devices() -> Vec<Device> {
    let mut devices = vec![Device::Cpu(Cpu::new(Some(3)).unwrap())];
    if cfg!(feature = "gpu") {
        devices.push(Device::open("gpu").unwrap());
    }
    devices
}

/// The results of threads that share a device are bit-identical to those of each thread alone.
#[test]
fn threads_share_a_device() {
    for device in devices() {
        // A software GPU spends most of its time on compiling shaders.
        let jobs = if matches!(device, Device::Cpu(_)) {
            42
        } else {
            6
        };
        let alone: Vec<Vec<Frame>> = (0..jobs).map(|i| work(&device, i)).collect();
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= 2 * jobs {
                            break;
                        }
                        let i = i * 5 % jobs;
                        let made = work(&device, i);
                        assert!(
                            made == alone[i],
                            "{:?} on {}",
                            method(&device, i),
                            device.name()
                        );
                    }
                });
            }
        });
    }
}

/// Denoisers move between threads, outlive the device handle that created them, and are dropped in another order than they were
/// created.
#[test]
fn denoisers_are_dropped_in_any_order() {
    for device in devices() {
        let expected: Vec<Vec<Frame>> = (0..7).map(|i| work(&device, i)).collect();
        let shelf: Mutex<Vec<(usize, Denoiser)>> = Mutex::default();
        thread::scope(|scope| {
            for t in 0..THREADS {
                let (device, shelf, expected) = (device.clone(), &shelf, &expected);
                scope.spawn(move || {
                    for k in 0..6 {
                        let i = (t * 3 + k) % 7;
                        let frame = frame(size(i));
                        let method = method(&device, i).prepared(&frame).unwrap();
                        let options = Options::of(method);
                        let made = Denoiser::new(&device, &frame.shape(), &options).unwrap();
                        let mut kept = shelf.lock().unwrap();
                        kept.push((i, made));
                        let at = (t + 5 * k) % kept.len();
                        let (i, mut other) = kept.swap_remove(at);
                        drop(kept);
                        // The denoiser may have run before on another thread: resets it.
                        other.reset();
                        let out = other.run(&support::frame(size(i))).unwrap();
                        assert!(out == expected[i][0], "{i} on {}", other.plan().title());
                        if k % 2 == 0 {
                            shelf.lock().unwrap().push((i, other));
                        }
                    }
                });
            }
        });
        drop(device);
        let mut left = shelf.into_inner().unwrap();
        while !left.is_empty() {
            let (i, mut last) = left.remove(left.len() / 2);
            last.reset();
            assert!(last.run(&frame(size(i))).unwrap() == expected[i][0]);
        }
    }
}

/// A frame that fails on one thread does not affect those of others.
#[test]
fn a_wrong_frame_is_the_error_of_its_thread() {
    for device in devices() {
        let (right, wrong) = (frame(Size::new(24, 16)), frame(Size::new(23, 16)));
        let options = Options::new(Gaussian::default());
        thread::scope(|scope| {
            for t in 0..THREADS {
                let (device, options) = (&device, &options);
                let (right, wrong) = (&right, &wrong);
                scope.spawn(move || {
                    let mut denoiser = Denoiser::new(device, &right.shape(), options).unwrap();
                    for _ in 0..20 {
                        let frame = if t % 2 == 0 { right } else { wrong };
                        assert_eq!(denoiser.run(frame).is_ok(), t % 2 == 0);
                    }
                });
            }
        });
    }
}
