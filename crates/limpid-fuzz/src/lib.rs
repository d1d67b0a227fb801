//! What is fuzzed: every reader and every text that comes from outside.
//!
//! A [`Target`] takes any bytes and must come back: with a result or an error, without a panic, in bounded time and memory. The
//! runner in `main.rs` mutates a corpus in child processes; `fuzz/` runs the same targets under libFuzzer.

pub mod coverage;
pub mod mutate;
mod seeds;
mod texts;

use limpid::io::{Format, ReadOptions, read_bytes};
use mutate::Dice;
use std::path::Path;

/// Something that takes bytes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Takes any bytes. Says whether they were accepted.
    pub run: fn(&[u8]) -> bool,
    /// Valid inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// A new valid input with random structure, for formats whose header random bytes rarely pass.
    pub make: Option<fn(&mut Dice) -> Vec<u8>>,
    /// Makes check sums right again after a mutation.
    pub repair: Option<fn(&mut [u8])>,
    /// Words that mutations insert.
    pub words: fn() -> Vec<String>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        make: Some(seeds::random_exr),
        ..reader("exr", |b| reads(b, Format::Exr), || seeds::of(Format::Exr))
    },
    Target {
        make: Some(seeds::random_dng),
        ..reader("dng", |b| reads(b, Format::Dng), || seeds::of(Format::Dng))
    },
    Target {
        make: Some(seeds::random_camera),
        ..reader("camera", camera, seeds::cameras)
    },
    reader("hdr", |b| reads(b, Format::Hdr), || seeds::of(Format::Hdr)),
    reader(
        "jpeg",
        |b| reads(b, Format::Jpeg),
        || seeds::of(Format::Jpeg),
    ),
    reader("pfm", |b| reads(b, Format::Pfm), || seeds::of(Format::Pfm)),
    Target {
        make: Some(seeds::random_png),
        repair: Some(seeds::repair_png),
        ..reader("png", |b| reads(b, Format::Png), || seeds::of(Format::Png))
    },
    Target {
        make: Some(seeds::random_tiff),
        ..reader(
            "tiff",
            |b| reads(b, Format::Tiff),
            || seeds::of(Format::Tiff),
        )
    },
    reader(
        "webp",
        |b| reads(b, Format::Webp),
        || seeds::of(Format::Webp),
    ),
    Target {
        words: texts::y4m_words,
        ..reader("y4m", texts::y4m, texts::y4m_seeds)
    },
    Target {
        words: texts::obj_words,
        ..reader("obj", texts::obj, texts::obj_seeds)
    },
    Target {
        words: texts::wavelet_words,
        ..reader("wavelet", texts::wavelet, texts::wavelet_seeds)
    },
    Target {
        words: texts::noise_words,
        ..reader("noise", texts::noise, texts::noise_seeds)
    },
    Target {
        words: texts::option_words,
        ..reader("options", texts::options, texts::option_seeds)
    },
    Target {
        words: texts::command_words,
        ..reader("command", texts::command, texts::command_seeds)
    },
];

/// The target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

const fn reader(name: &'static str, run: fn(&[u8]) -> bool, seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target {
        name,
        run,
        seeds,
        make: None,
        repair: None,
        words: Vec::new,
    }
}

/// The most bytes that the pixels of a file may take here: large pictures take time and reach nothing that small ones do not.
const LIMIT: u64 = 1 << 20;

/// Reads a camera's raw file; the name says that it is one.
fn camera(bytes: &[u8]) -> bool {
    reads_as(bytes, Format::Dng, "fuzz.nef")
}

fn reads(bytes: &[u8], format: Format) -> bool {
    reads_as(bytes, format, "fuzz")
}

/// Reads a file without the guard that [`limpid::io::read`] puts around decoders, so that a panic inside one counts.
fn reads_as(bytes: &[u8], format: Format, name: &str) -> bool {
    let mut options = ReadOptions::default();
    options.flatten = true;
    options.need_color = false;
    options.limit = LIMIT;
    read_bytes(bytes, format, Path::new(name), &options).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_accepted() {
        for target in TARGETS.iter().filter(|t| t.name != "command") {
            let seeds = (target.seeds)();
            assert!(!seeds.is_empty(), "{}", target.name);
            for (i, seed) in seeds.iter().enumerate() {
                assert!((target.run)(seed), "{} {i}", target.name);
            }
            if let Some(make) = target.make {
                let mut dice = Dice::new(1);
                for i in 0..50 {
                    assert!((target.run)(&make(&mut dice)), "{} made {i}", target.name);
                }
            }
        }
    }

    /// Every file that was once a find.
    #[test]
    fn finds_stay_mended() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("finds");
        for target in TARGETS {
            let Ok(files) = std::fs::read_dir(folder.join(target.name)) else {
                continue;
            };
            for file in files.flatten() {
                (target.run)(&std::fs::read(file.path()).unwrap_or_default());
            }
        }
    }

    /// A few thousand inputs of each target; `cargo xtask fuzz` does millions.
    #[test]
    fn mutations_come_back() {
        for target in TARGETS.iter().filter(|t| t.name != "command") {
            let count = if target.name == "options" { 200 } else { 1000 };
            let corpus = mutate::Corpus::new(target, Vec::new());
            let mut dice = Dice::new(7);
            for _ in 0..count {
                (target.run)(&corpus.next(&mut dice));
            }
        }
    }
}
