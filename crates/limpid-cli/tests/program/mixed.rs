//! Batches of different files: photographs beside films and renders, and options that fit only some of them.

use crate::{command, limpid, said, works};
use limpid::io::{self, WriteOptions};
use limpid::{Frame, Image, Kind};
use std::path::Path;
use std::process::Stdio;

/// A picture with noise of this amount.
fn photo(path: &Path, amount: f32) {
    let mut state = 1u32;
    let image = Image::from_fn(48, 40, 3, |x, _, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        0.4 + 0.002 * x as f32 + amount * ((state >> 8) as f32 / (1 << 24) as f32 - 0.5)
    });
    let frame = Frame::new(image).unwrap();
    io::write(path, &frame, None, &WriteOptions::default()).unwrap();
}

/// A render: colour with normals.
fn render(path: &Path) {
    let mut frame = Frame::new(Image::from_fn(24, 16, 3, |x, y, c| {
        0.5 + 0.1 * ((x * 7 + y * 5 + c * 3) % 11) as f32 / 11.0
    }))
    .unwrap();
    let normal = Image::from_fn(24, 16, 3, |_, _, c| [0.0, 0.0, 1.0][c]);
    frame.insert(Kind::Normal, normal).unwrap();
    io::write(path, &frame, None, &WriteOptions::default()).unwrap();
}

/// A grey film of six frames with a little noise.
fn film(path: &Path) {
    let mut bytes = b"YUV4MPEG2 W48 H40 F25:1 C444\n".to_vec();
    let mut state = 7u32;
    for _ in 0..6 {
        bytes.extend(b"FRAME\n");
        bytes.extend((0..3 * 48 * 40).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            124 + (state >> 24) as u8 % 9
        }));
    }
    std::fs::write(path, bytes).unwrap();
}

/// A photograph beside a film is denoised as a photograph, and the film by its own noise.
#[test]
fn photographs_and_films_of_a_batch_are_independent() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    photo(&place.join("photo.png"), 0.5);
    film(&place.join("clip.y4m"));
    works(place, "denoise photo.png -o alone.png --device cpu");
    works(place, "denoise clip.y4m -o alone.y4m --device cpu");
    for inputs in [
        "photo.png clip.y4m",
        "clip.y4m photo.png",
        "photo.png clip.y4m --jobs 2",
    ] {
        let told = works(
            place,
            &format!("denoise {inputs} -o out/ --device cpu --json"),
        );
        for line in told.lines() {
            let fact: serde_json::Value = serde_json::from_str(line).unwrap();
            let method = match fact["input"] == "photo.png" {
                true => "camera",
                false => "film",
            };
            assert_eq!(fact["method"], method, "{inputs}: {line}");
        }
        let read = |name: &str| std::fs::read(place.join(name)).unwrap();
        assert!(read("out/photo.png") == read("alone.png"), "{inputs}");
        assert!(read("out/clip.y4m") == read("alone.y4m"), "{inputs}");
    }
}

/// Nobody reads the report: all files are written all the same.
#[test]
fn a_closed_report_does_not_stop_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    std::fs::create_dir(place.join("in")).unwrap();
    for name in ["a", "b", "c", "d"] {
        photo(&place.join(format!("in/{name}.png")), 0.1);
    }
    let line = "denoise in -o out --quality fast --device cpu --json";
    let mut child = command(place)
        .args(line.split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let got = child.wait_with_output().unwrap();
    assert!(got.status.success(), "{}", said(&got));
    for name in ["a", "b", "c", "d"] {
        assert!(place.join(format!("out/{name}.png")).exists(), "{name}");
    }
}

/// An option that does not fit one file is that file's failure, told as it was typed.
#[test]
fn an_option_that_does_not_fit_one_file_fails_that_file() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    std::fs::create_dir(place.join("in")).unwrap();
    photo(&place.join("in/a.png"), 0.1);
    render(&place.join("in/b.exr"));
    photo(&place.join("in/c.png"), 0.1);
    let got = limpid(
        place,
        "denoise in -o out --sigma 25/255 --device cpu --json",
    );
    assert_eq!(got.status.code(), Some(1), "{}", said(&got));
    for words in [
        "b.exr: --sigma 25/255: expected a photograph",
        "1 of 3 files failed: in/b.exr",
    ] {
        assert!(said(&got).contains(words), "{}", said(&got));
    }
    assert!(place.join("out/a.png").exists() && place.join("out/c.png").exists());
    let told = String::from_utf8(got.stdout).unwrap();
    let facts: Vec<serde_json::Value> = told
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(facts.len(), 3, "{told}");
    assert_eq!(facts[1]["input"], "in/b.exr");
    let error = facts[1]["error"].as_str().unwrap();
    assert!(error.contains("--sigma 25/255"), "{error}");
    // An option that fits no file is wrong usage.
    let got = limpid(place, "denoise in/a.png in/c.png -o no --sigma -1");
    assert_eq!(got.status.code(), Some(2), "{}", said(&got));
    let got = limpid(place, "denoise in/b.exr -o no.exr --sigma 25/255");
    assert_eq!(got.status.code(), Some(2), "{}", said(&got));
}

#[test]
fn the_number_of_merged_frames_counts() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    film(&place.join("clip.y4m"));
    let made = |merge: &str| {
        let line = format!("denoise clip.y4m -o out.y4m --method film {merge} --device cpu");
        works(place, &line);
        std::fs::read(place.join("out.y4m")).unwrap()
    };
    assert!(made("--merge 3") != made("--merge 9"));
    assert!(made("--merge 5") == made("--strength 1"));
    let got = limpid(
        place,
        "denoise clip.y4m -o out.y4m --method film --merge 4 --device cpu",
    );
    assert!(
        said(&got).contains("--merge 4: expected 3, 5, 7 or 9"),
        "{}",
        said(&got)
    );
}

/// One scale of quality for all methods that have steps.
#[test]
fn every_method_with_steps_has_the_same_scale() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    film(&place.join("clip.y4m"));
    photo(&place.join("a.png"), 0.2);
    render(&place.join("b.exr"));
    let made = |input: &str, options: &str| {
        let output = format!("out.{}", input.rsplit('.').next().unwrap());
        works(
            place,
            &format!("denoise {input} -o {output} --device cpu {options}"),
        );
        std::fs::read(place.join(output)).unwrap()
    };
    for (input, method) in [
        ("a.png", "eaw"),
        ("a.png", "ddid"),
        ("a.png", "camera"),
        ("clip.y4m", "film"),
        ("b.exr", "nfor"),
        ("b.exr", "ensemble"),
    ] {
        let step = |quality: &str| made(input, &format!("--method {method} --quality {quality}"));
        let (fast, _, best) = (step("fast"), step("good"), step("best"));
        assert!(fast != best, "{method}");
    }
    let film = |options: &str| made("clip.y4m", &format!("--method film {options}"));
    assert!(film("--quality best") == film("--merge 9"));
    assert!(film("--quality best --merge 3") == film("--merge 3"));
}

/// Options that would do nothing are refused before the work.
#[test]
fn options_that_do_not_apply_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    film(&place.join("clip.y4m"));
    photo(&place.join("a.png"), 0.1);
    photo(&place.join("s.0001.png"), 0.1);
    for (line, words) in [
        (
            "clip.y4m -o o.y4m --crf 20",
            "o.y4m: --crf is for films that ffmpeg encodes",
        ),
        (
            "a.png -o o.png --frames 0..1",
            "a.png: --frames is for films and numbered files",
        ),
        ("clip.y4m -o - --resume", "--resume needs an output file"),
        (
            "clip.y4m -o - --json",
            "--json would stand in the film on standard output",
        ),
        (
            "a.png clip.y4m -o new --frames 1",
            "a.png: --frames is for films and numbered files",
        ),
        (
            "clip.y4m -o o.y4m --jobs 2 --method taa",
            "--jobs 2: expected 1, because each frame needs the previous one",
        ),
        (
            "a.png -o o.png --resume --method taa",
            "--resume needs the frames as one name",
        ),
        (
            "a.png -o o.png --jpeg-quality 90",
            "--jpeg-quality is for JPEG files",
        ),
        (
            "a.png -o o.png --compression zip",
            "--compression is for EXR files",
        ),
        (
            "clip.y4m -o o.y4m --flatten",
            "a film has no layers; leave out --flatten",
        ),
        (
            "clip.y4m -o o.y4m --albedo a.png",
            "a film has no layers; leave out --albedo",
        ),
    ] {
        let got = limpid(place, &format!("denoise {line} --device cpu"));
        assert_eq!(got.status.code(), Some(2), "{line}: {}", said(&got));
        assert!(said(&got).contains(words), "{line}: {}", said(&got));
        assert_eq!(said(&got).lines().count(), 1, "{line}: {}", said(&got));
        for name in ["o.png", "o.y4m", "new"] {
            assert!(!place.join(name).exists(), "{line}");
        }
    }
    // The quality counts for the frames of a sequence too.
    for quality in [10, 90] {
        let line = format!("denoise s.####.png -o q{quality}.##.jpg --jpeg-quality {quality}");
        works(place, &line);
    }
    let size = |name: &str| std::fs::metadata(place.join(name)).unwrap().len();
    assert!(size("q10.01.jpg") < size("q90.01.jpg"));
}

/// `--resume` keeps the results of single files and films, and says so.
#[test]
fn results_that_are_there_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    film(&place.join("clip.y4m"));
    photo(&place.join("a.png"), 0.1);
    let line = "denoise a.png clip.y4m -o out --device cpu --resume";
    std::fs::create_dir(place.join("out")).unwrap();
    std::fs::write(place.join("out/a.png"), b"kept").unwrap();
    let got = limpid(place, line);
    assert!(got.status.success(), "{}", said(&got));
    assert!(
        said(&got).starts_with("1 of 2 results are there already and are kept\n"),
        "{}",
        said(&got)
    );
    assert_eq!(std::fs::read(place.join("out/a.png")).unwrap(), b"kept");
    assert!(place.join("out/clip.y4m").exists());
    let got = limpid(place, line);
    assert_eq!(
        said(&got),
        "nothing to do: all results are there already, in out\n"
    );
    photo(&place.join("s.0001.png"), 0.1);
    let line = "denoise s.####.png -o t.####.png --device cpu --resume";
    works(place, line);
    let got = limpid(place, line);
    assert!(said(&got).starts_with("nothing to do: "), "{}", said(&got));
}

/// Light without features is a render too, unless the command says that it is a photograph.
#[test]
fn scene_linear_files_are_renders() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    photo(&place.join("light.exr"), 0.5);
    photo(&place.join("photo.png"), 0.5);
    for (line, words) in [
        (
            "light.exr -o out.exr",
            "no features: scene-linear, so taken for a render",
        ),
        ("light.exr -o out.exr --sigma 0.1", "camera on cpu"),
        ("light.exr -o out.exr --method eaw", "eaw on cpu"),
        ("photo.png -o out.png", "camera on cpu"),
    ] {
        let got = limpid(place, &format!("denoise {line} --device cpu"));
        assert!(got.status.success(), "{line}: {}", said(&got));
        assert!(said(&got).contains(words), "{line}: {}", said(&got));
    }
    // Files of a batch are judged one by one.
    let got = limpid(place, "denoise photo.png light.exr -o both --device cpu");
    let told = said(&got);
    assert!(told.contains("photo.png: camera"), "{told}");
    assert!(told.contains("light.exr: neural"), "{told}");
}

/// What Blender saves for display says so in its texts; light and features would help far more.
#[test]
fn pictures_of_renders_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    photo(&place.join("photo.png"), 0.5);
    let bytes = std::fs::read(place.join("photo.png")).unwrap();
    // A chunk of text after the header, of 33 bytes.
    let text = b"tEXtRenderTime\x0000:38.17";
    let mut chunk = ((text.len() - 4) as u32).to_be_bytes().to_vec();
    chunk.extend(text);
    chunk.extend(crc(text).to_be_bytes());
    let render = [&bytes[..33], &chunk, &bytes[33..]].concat();
    std::fs::write(place.join("render.png"), render).unwrap();
    for (line, told) in [
        ("render.png -o out.png", true),
        ("render.png -o out.png --method eaw", false),
        ("photo.png -o out.png", false),
    ] {
        let got = limpid(place, &format!("denoise {line} --device cpu"));
        assert!(got.status.success(), "{line}: {}", said(&got));
        let words = "render.png: rendered by Blender; from a multilayer EXR";
        assert_eq!(said(&got).contains(words), told, "{line}: {}", said(&got));
    }
    let got = limpid(place, "info out.png");
    assert!(got.status.success(), "{}", said(&got));
}

/// The checksum of PNG.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _: u32| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    let add = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    !bytes.iter().fold(!0, add)
}
