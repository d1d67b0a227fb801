//! Failing allocations: every large allocation of reading, running and writing fails once. Each time there is an error and the
//! program continues, nothing is leaked, and the next run works.

use crate::{alone, refusing, support, taken};
use limpid::exec::cpu::Cpu;
use limpid::io::{self, Format, ReadOptions, WriteOptions};
use limpid::method::METHODS;
use limpid::{Device, DeviceFault, Error, Frame, Image, Options, Result, Size, Watch, denoise_on};
use std::path::Path;

/// Small, but with planes above the size that counts as large.
const SIZE: Size = Size::new(160, 112);
const LARGE: usize = 64 << 10;

/// Images of files, and the size that counts as large there: above the windows of compressors.
const PICTURE: Size = Size::new(512, 384);
const LARGE_PICTURE: usize = 400 << 10;

/// Fails each large allocation of some work in turn; returns their number.
fn each(name: &str, large: usize, mut work: impl FnMut() -> Result<()>) -> usize {
    // Creates tables that are kept afterwards.
    work().unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut before = taken();
    for number in 0.. {
        let (made, refused) = refusing(large, number, &mut work);
        match &made {
            Err(Error::Device {
                fault: DeviceFault::OutOfMemory(_),
                ..
            }) => {}
            // After a large buffer fails, a smaller one is tried.
            Ok(()) => {}
            Err(error) => panic!("{name}: allocation {number}: {error}"),
        }
        let now = taken();
        let more = now.saturating_sub(before);
        assert!(
            more < 4096,
            "{name}: allocation {number} leaks {more} bytes"
        );
        before = now;
        if !refused {
            return number;
        }
    }
    0
}

fn quiet() {
    // Suppresses the messages of panics that become errors, for some thousand runs.
    std::panic::set_hook(Box::new(|panic| {
        if !panic.payload().is::<limpid::OutOfMemory>() {
            eprintln!("{panic}");
        }
    }));
}

#[test]
fn running_without_memory_is_an_error() {
    let _alone = alone();
    quiet();
    let frame = support::frame(SIZE);
    let device = Device::Cpu(Cpu::new(Some(2)).unwrap());
    let mut total = 0;
    for entry in METHODS {
        // Slow methods that cover nothing more; and network weights, which are not pixels.
        if ["patch", "ddid", "rdfc", "neural", "camera", "ensemble"].contains(&entry.name) {
            continue;
        }
        let options = Options::of((entry.make)());
        total += each(entry.name, LARGE, || {
            denoise_on(&device, &frame, &options, &Watch::default()).map(drop)
        });
    }
    assert!(total > 60, "{total}");
}

#[test]
fn reading_and_writing_without_memory_is_an_error() {
    let _alone = alone();
    quiet();
    let Size { width, height } = PICTURE;
    let image = Image::from_fn(width, height, 3, |x, y, c| ((x * y + c) % 97) as f32 / 97.0);
    let frame = Frame::new(image).unwrap();
    let mut total = 0;
    for format in Format::ALL.iter().copied() {
        let bytes = io::encode(format, &frame, &WriteOptions::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder
            .path()
            .join("picture")
            .with_extension(format.extensions()[0]);
        std::fs::write(&path, &bytes).unwrap();
        // The decoders of these two allocate memory of the size of the image themselves.
        if ![Format::Tiff, Format::Webp].contains(&format) {
            total += each(&format!("reading {format}"), LARGE_PICTURE, || {
                io::read(&path, &ReadOptions::default()).map(drop)
            });
        }
        if [Format::Exr, Format::Hdr, Format::Pfm].contains(&format) {
            total += each(&format!("writing {format}"), LARGE_PICTURE, || {
                io::write(&path, &frame, None, &WriteOptions::default()).map(drop)
            });
        }
        // A failed write leaves the old file and nothing else.
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    assert!(total > 10, "{total}");
    assert!(!Path::new("picture").exists());
}
