//! Damaged files: reading a file with arbitrarily changed bytes returns an image or an error. It never panics and never
//! allocates memory that the file cannot fill.
//!
//! The readers run here without the guard of [`io::read`]. `fuzz/` does the same with random input.

use crate::*;
use limpid_io::{Format, Sample};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counts the largest single allocation of the test program.
struct Watched;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Limit of a single allocation: the samples are a few KiB, and the highest compression of a block is 1 : 65536.
const MOST: usize = 512 << 20;

/// Small files of every format and of many variants, besides those in `tests/corpus`.
fn corpus() -> Vec<(String, Format, Vec<u8>)> {
    let mut files = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    let mut add = |name: String, options: &WriteOptions, frame: &Frame| {
        let path = folder.path().join(&name);
        io::write(&path, frame, None, options).unwrap();
        let format = Format::from_path(&path).unwrap();
        files.push((name, format, std::fs::read(&path).unwrap()));
    };
    let mut frame = Frame::new(Image::from_fn(19, 11, 3, |x, y, c| {
        ((x * y + c) as f32 * 0.37).fract()
    }))
    .unwrap();
    for format in Format::ALL.iter().copied() {
        let name = format!("color.{}", format.extensions()[0]);
        add(name, &WriteOptions::default(), &frame);
    }
    frame.insert(Kind::Alpha, Image::new(19, 11, 1)).unwrap();
    let mut options = WriteOptions::default();
    options.bits = Some(io::Bits::Sixteen);
    add("alpha.png".into(), &options, &frame);
    add("alpha.tif".into(), &options, &frame);
    options.sample = Some(Sample::Half);
    for (name, compression) in [
        ("none", io::Compression::None),
        ("piz", io::Compression::Piz),
        ("htj2k", io::Compression::Htj2k),
    ] {
        options.compression = Some(compression);
        add(format!("{name}.exr"), &options, &frame);
    }
    let methods = [
        Compression::RLE,
        Compression::PXR24,
        Compression::B44,
        Compression::B44A,
        Compression::DWAA(None),
        Compression::DWAB(Some(45.0)),
    ];
    for method in methods {
        for blocks in [Blocks::ScanLines, Blocks::Tiles(Vec2(8, 8))] {
            let n = 20 * 36;
            let channels = vec![
                half("R", n, 1),
                half("G", n, 2),
                half("B", n, 3),
                float("Z", n, 4),
            ];
            let mut layer = part(None, (20, 36), channels);
            layer.encoding.compression = method;
            layer.encoding.blocks = blocks;
            let path = folder.path().join("method.exr");
            save(&path, (20, 36), vec![layer.clone()]);
            files.push((
                format!("{method} {blocks:?}"),
                Format::Exr,
                std::fs::read(&path).unwrap(),
            ));
            let mut other = layer.clone();
            layer.attributes.layer_name = Some(Text::from("one"));
            other.attributes.layer_name = Some(Text::from("two"));
            save(&path, (20, 36), vec![layer, other]);
            files.push((
                format!("parts {method} {blocks:?}"),
                Format::Exr,
                std::fs::read(&path).unwrap(),
            ));
        }
    }
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let kept = ["corpus", "files"].map(|folder| std::fs::read_dir(tests.join(folder)).unwrap());
    for entry in kept.into_iter().flatten() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let format = Format::from_content(&bytes).or_else(|| Format::from_path(&path).ok());
        files.push((path.display().to_string(), format.unwrap(), bytes));
    }
    files
}

/// A deterministic random number generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

/// One way to damage a file.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    // Headers contain most of the structure.
    let length = bytes.len();
    let at = if dice.roll(2) == 0 {
        dice.roll(length.min(600))
    } else {
        dice.roll(length)
    };
    match dice.roll(7) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << dice.roll(8),
        2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][dice.roll(5)],
        3 => {
            let word = [0, u32::MAX, 0x7fff_ffff, 0x8000_0000, 65536][dice.roll(5)];
            let word = if dice.roll(2) == 0 {
                word.to_le_bytes()
            } else {
                word.to_be_bytes()
            };
            let end = (at + 4).min(length);
            bytes[at..end].copy_from_slice(&word[..end - at]);
        }
        4 => {
            let end = (at + dice.roll(16)).min(length);
            bytes.drain(at..end);
        }
        5 => {
            let end = (at + dice.roll(16)).min(length);
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        _ => {
            let other = dice.roll(length);
            bytes.swap(at, other);
        }
    }
    if bytes.is_empty() {
        bytes.push(0);
    }
}

fn try_read(name: &str, format: Format, bytes: &[u8]) -> bool {
    // The allocation counter is global to the program.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut options = ReadOptions::default();
    options.flatten = true;
    options.need_color = false;
    LARGEST.store(0, Ordering::Relaxed);
    let result = std::panic::catch_unwind(|| {
        io::read_bytes(bytes, format, Path::new("damaged"), &options).is_ok()
    });
    let largest = LARGEST.load(Ordering::Relaxed);
    if result.is_err() || largest > MOST {
        let path = std::env::temp_dir().join("limpid-damaged-file.bin");
        std::fs::write(&path, bytes).unwrap();
        let what = if result.is_err() {
            "panicked".to_owned()
        } else {
            format!("took {largest} bytes")
        };
        panic!(
            "reading a damaged {name} as {format} {what}; the file is {}",
            path.display()
        );
    }
    result.unwrap()
}

#[test]
fn whole_files_of_the_corpus_are_readable_or_refused() {
    // The same files seed the fuzz targets.
    let seeds = std::env::var_os("LIMPID_SEEDS").map(PathBuf::from);
    for (i, (name, format, bytes)) in corpus().into_iter().enumerate() {
        if let Some(folder) = &seeds {
            let folder = folder.join(format!("{format:?}").to_lowercase());
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(i.to_string()), &bytes).unwrap();
        }
        let made_here = !name.contains("corpus");
        assert!(try_read(&name, format, &bytes) || !made_here, "{name}");
    }
}

#[test]
fn no_truncation_panics() {
    for (name, format, bytes) in corpus() {
        // All lengths near the ends, some between.
        let step = (bytes.len() / 200).max(1);
        let ends = (0..bytes.len().min(100)).chain(bytes.len().saturating_sub(40)..bytes.len());
        for length in ends.chain((0..bytes.len()).step_by(step)) {
            try_read(&name, format, &bytes[..length]);
        }
    }
}

#[test]
fn no_damage_panics() {
    let rounds: usize = std::env::var("LIMPID_DAMAGE")
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(300);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for (name, format, bytes) in corpus() {
        for _ in 0..rounds {
            let mut damaged = bytes.clone();
            for _ in 0..=dice.roll(3) {
                damage(&mut damaged, &mut dice);
            }
            try_read(&name, format, &damaged);
        }
    }
}
