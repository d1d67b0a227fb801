//! Runs the commands of README.md, docs/*.md and docs/notes/*.md and compares what they print.
//!
//! Every block that is fenced as `console` is run: a line `$ limpid …` is a command, the lines after it are what it prints,
//! and `? 1` before them is its exit code when that is not 0. Commands for readers only are fenced as `sh`.
//!
//! The commands of one page run in order, in one temporary folder of that page, which holds the pictures of [`inputs`].
//! `TRYCMD=overwrite cargo test -p limpid-cli --test docs` writes what was printed back into the pages.

use limpid::io::y4m::{Colour, Reader, Writer};
use limpid::io::{self, Transfer, WriteOptions};
use limpid::{Frame, Image, Kind};
use std::error::Error;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn commands_of_the_pages_print_what_they_say() -> Outcome {
    let folder = tempfile::tempdir()?;
    let pictures = folder.path().join("pictures");
    inputs(&pictures)?;
    let mut commands = 0;
    let mut copies = Vec::new();
    for page in pages()? {
        let without_ffmpeg = std::env::var_os("LIMPID_FFMPEG").is_some_and(|named| named == "none");
        if without_ffmpeg && page.ends_with("films.md") {
            continue;
        }
        let text = fs::read_to_string(&page)?;
        commands += text.matches("\n```console\n$ limpid").count();
        // Pages of both folders may have the same name.
        let notes = page.parent().is_some_and(|p| p.ends_with("notes"));
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        let name = if notes {
            format!("notes-{name}")
        } else {
            name.into_owned()
        };
        let copy = folder.path().join(name);
        fs::write(&copy, tagged(&text))?;
        let place = copy.with_extension("in");
        fs::create_dir_all(&place)?;
        for picture in fs::read_dir(&pictures)? {
            let picture = picture?;
            fs::copy(picture.path(), place.join(picture.file_name()))?;
        }
        copies.push((page, copy));
    }
    assert!(commands > 0, "no page has a command");

    let cases = trycmd::TestCases::new();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_limpid"));
    cases.register_bin("limpid", trycmd::schema::Bin::Path(program));
    // Times differ from run to run.
    cases.env("LIMPID_QUIET", "1");
    cases.case(folder.path().join("*.md"));
    let result = catch_unwind(AssertUnwindSafe(|| cases.run()));
    // Otherwise the cases would run once more when they are dropped.
    std::mem::forget(cases);
    if std::env::var("TRYCMD").is_ok_and(|v| v == "overwrite") {
        for (page, copy) in copies {
            fs::write(page, fs::read_to_string(copy)?)?;
        }
    }
    result.map_err(|panic| resume_unwind(panic))
}

/// The page with `text` on fences that say nothing, which would otherwise be taken for commands.
fn tagged(page: &str) -> String {
    let mut inside = false;
    let mut out = String::new();
    for line in page.lines() {
        let fence = line.trim_start().starts_with("```");
        out += line;
        if fence && !inside && line.trim() == "```" {
            out += "text";
        }
        inside ^= fence;
        out += "\n";
    }
    out
}

/// README.md and the pages beside it.
fn pages() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    for folder in ["docs", "docs/notes"] {
        for entry in fs::read_dir(root.join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// Pictures that every page may use.
///
/// - `noisy.exr`: a small render with noise; colour, albedo, normal, depth
/// - `reference.exr`: the same without noise
/// - `photo.png`, `clean.png`: a photograph with grain, and without
/// - `clip.y4m`: four frames of it, moving
/// - `stack.tif`: three pages of it
/// - `deep.exr`: a deep image of the OpenEXR library
fn inputs(folder: &Path) -> Outcome {
    fs::create_dir_all(folder)?;
    let linear = WriteOptions::default();
    for (name, grain) in [("noisy.exr", 1.0), ("reference.exr", 0.0)] {
        let mut frame = Frame::new(image(3, |x, y, c| {
            let shade = 0.2 + light(x, y) * [0.9, 0.7, 0.5][c];
            shade * (1.0 + grain * noise(x, y, c))
        }))?;
        frame.insert(
            Kind::Albedo,
            image(3, |x, y, c| albedo(x, y) * [0.9, 0.7, 0.5][c]),
        )?;
        frame.insert(Kind::Normal, image(3, |_, _, c| [0.0, 0.0, 1.0][c]))?;
        frame.insert(Kind::Depth, image(1, |_, y, _| 1.0 + y as f32 / 16.0))?;
        io::write(folder.join(name), &frame, None, &linear)?;
    }
    let mut encoded = WriteOptions::default();
    encoded.transfer = Some(Transfer::Encoded);
    for (name, grain) in [("photo.png", 0.2), ("clean.png", 0.0)] {
        let photo = image(3, |x, y, c| {
            light(x, y).min(1.0) * 0.8 + grain * noise(x, y, c)
        });
        io::write(folder.join(name), &Frame::new(photo)?, None, &encoded)?;
    }
    let mut stack = io::PageWriter::default();
    for page in 0..3 {
        let photo = image(1, |x, y, _| {
            light(x, y + page).min(1.0) * 0.8 + 0.2 * noise(x, y, page)
        });
        stack.push(&Frame::new(photo)?, None, &encoded)?;
    }
    stack.write(folder.join("stack.tif"))?;
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../limpid-io/tests/files");
    fs::copy(files.join("deep-lines.exr"), folder.join("deep.exr"))?;
    let header = Reader::new(&b"YUV4MPEG2 W64 H48 F25:1 C420jpeg\n"[..], Colour::Encoded)?;
    let header = header.header().clone();
    let mut film = Writer::new(
        fs::File::create(folder.join("clip.y4m"))?,
        header,
        Colour::Encoded,
    )?;
    for t in 0..4 {
        film.write(&image(3, |x, y, c| {
            light(x + t, y).min(1.0) * 0.8 + 0.2 * noise(x + 97 * t, y, c)
        }))?;
    }
    film.finish()?;
    Ok(())
}

fn image(channels: usize, value: impl FnMut(usize, usize, usize) -> f32) -> Image {
    Image::from_fn(64, 48, channels, value)
}

fn albedo(x: usize, y: usize) -> f32 {
    if (x / 8 + y / 8).is_multiple_of(2) {
        0.8
    } else {
        0.3
    }
}

/// A lamp over a chequered floor.
fn light(x: usize, y: usize) -> f32 {
    let (dx, dy) = (x as f32 - 40.0, y as f32 - 12.0);
    albedo(x, y) * 200.0 / (60.0 + dx * dx + dy * dy)
}

/// -½ … ½, without any order to see.
fn noise(x: usize, y: usize, c: usize) -> f32 {
    let mut bits = ((x * 73_856_093) ^ (y * 19_349_663) ^ (c * 83_492_791)) as u32;
    for _ in 0..3 {
        bits ^= bits >> 15;
        bits = bits.wrapping_mul(0x2c1b_3c6d);
    }
    (bits >> 8) as f32 / (1 << 24) as f32 - 0.5
}
