//! Films through the program: y4m from standard input to standard output, files, and what is said without ffmpeg.

use crate::command;
use std::error::Error;
use std::io::Write;
use std::process::{Output, Stdio};

type Outcome = Result<(), Box<dyn Error>>;

/// Three frames of 16 by 8 pixels with grain.
fn film() -> Vec<u8> {
    let mut bytes = b"YUV4MPEG2 W16 H8 F25:1 Ip A1:1 C420jpeg\n".to_vec();
    for frame in 0..3usize {
        bytes.extend(b"FRAME\n");
        bytes.extend((0..16 * 8 + 2 * 8 * 4).map(|i| (100 + (i * 37 + frame * 11) % 23) as u8));
    }
    bytes
}

fn limpid(args: &[&str], input: &[u8]) -> Result<Output, Box<dyn Error>> {
    let mut child = command(&std::env::temp_dir())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    stdin.write_all(input).ok();
    drop(stdin);
    Ok(child.wait_with_output()?)
}

#[test]
fn frames_flow_from_input_to_output() -> Outcome {
    let shrink = [
        "--method", "shrink", "--sigma", "0.03", "--levels", "2", "--device", "cpu",
    ];
    let out = limpid(
        &[&["denoise", "-", "-o", "-"], &shrink[..]].concat(),
        &film(),
    )?;
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    assert_eq!(out.stdout.len(), film().len());
    assert!(
        out.stdout
            .starts_with(b"YUV4MPEG2 W16 H8 F25:1 Ip A1:1 C420jpeg\nFRAME\n")
    );
    assert_ne!(out.stdout, film());
    Ok(())
}

#[test]
fn films_of_coefficients_come_back() -> Outcome {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (from, there, back) = (at("a.y4m"), at("b.y4m"), at("c.y4m"));
    let flat = String::from("YUV4MPEG2 W16 H8 F25:1 C444\nFRAME\n");
    let film: Vec<u8> = [
        flat.as_bytes(),
        &(0..384)
            .map(|i| (60 + i * 7 % 120) as u8)
            .collect::<Vec<_>>(),
    ]
    .concat();
    std::fs::write(&from, &film)?;
    let options = ["--levels", "2", "--device", "cpu"];
    let out = limpid(&[&["dwt", &from, "-o", &there], &options[..]].concat(), b"")?;
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    assert!(std::fs::read(&there)?.starts_with(b"YUV4MPEG2 W16 H8 F25:1 C444p16\n"));
    let out = limpid(
        &[&["idwt", &there, "-o", &back], &options[..]].concat(),
        b"",
    )?;
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let read = std::fs::read(&back)?;
    let (head, samples) = read.split_at(read.len() - 768);
    assert!(head.starts_with(b"YUV4MPEG2"));
    for (pair, wanted) in samples.chunks_exact(2).zip(&film[film.len() - 384..]) {
        let value = f64::from(u16::from_le_bytes([pair[0], pair[1]])) / 257.0;
        assert!(
            (value - f64::from(*wanted)).abs() < 0.02,
            "{value} {wanted}"
        );
    }
    Ok(())
}

/// Seven frames in groups of three: the last group has one.
#[test]
fn films_are_transformed_along_time() -> Outcome {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (from, there, back) = (at("a.y4m"), at("b.y4m"), at("c.y4m"));
    let mut film = b"YUV4MPEG2 W16 H8 F25:1 C444\n".to_vec();
    let sample = |t: usize, i: usize| (60 + t * 5 + i * 7 % 90) as u8;
    for t in 0..7 {
        film.extend(b"FRAME\n");
        film.extend((0..384).map(|i| sample(t, i)));
    }
    std::fs::write(&from, &film)?;
    let options = [
        "--levels", "2", "--device", "cpu", "--frames", "3", "--json",
    ];
    for (subcommand, from, to) in [("dwt", &from, &there), ("idwt", &there, &back)] {
        let out = limpid(&[&[subcommand, from, "-o", to], &options[..]].concat(), b"")?;
        let fact: serde_json::Value = serde_json::from_slice(&out.stdout)?;
        assert_eq!(fact["method"], subcommand);
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
    }
    let frames = |path: &str| -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
        let bytes = std::fs::read(path)?;
        let start = bytes.iter().position(|b| *b == b'\n').ok_or("no header")? + 1;
        let frame = |f: &[u8]| {
            let pairs = f[6..].chunks_exact(2);
            pairs
                .map(|p| f64::from(u16::from_le_bytes([p[0], p[1]])) / 257.0)
                .collect()
        };
        Ok(bytes[start..].chunks_exact(6 + 768).map(frame).collect())
    };
    let read = frames(&back)?;
    assert_eq!(read.len(), 7);
    for (t, frame) in read.iter().enumerate() {
        for (i, value) in frame.iter().enumerate() {
            let wanted = f64::from(sample(t, i));
            assert!((value - wanted).abs() < 0.05, "{t} {i}: {value} {wanted}");
        }
    }
    // All frames of a group differ by even brightness: what is high along time has one coefficient, at the lowest frequency.
    let coefficients = frames(&there)?;
    assert!(
        coefficients[2]
            .iter()
            .skip(4)
            .take(12)
            .all(|v| (v - 127.5).abs() < 0.1)
    );
    Ok(())
}

#[test]
fn without_ffmpeg_it_is_told_what_to_do() -> Outcome {
    let folder = tempfile::tempdir()?;
    let film = folder.path().join("a.mp4");
    std::fs::write(&film, b"no film")?;
    let out = command(&std::env::temp_dir())
        .arg("denoise")
        .arg(&film)
        .arg("-o")
        .arg(folder.path().join("b.mkv"))
        .args(["--method", "shrink", "--device", "cpu"])
        .env("PATH", "")
        .output()?;
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(
        said.contains("need the program ffmpeg on the path"),
        "{said}"
    );
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
    Ok(())
}

#[test]
fn a_reader_that_stops_is_no_error() -> Outcome {
    let mut long = film();
    let frame = long[long.len() - 198..].to_vec();
    for _ in 0..2000 {
        long.extend(&frame);
    }
    for args in [
        &["dwt", "-", "-o", "-", "--device", "cpu"][..],
        &[
            "denoise", "-", "-o", "-", "--device", "cpu", "--method", "taa",
        ],
        &["plan", "filter:gaussian", "--device", "cpu", "--kernels"],
    ] {
        let mut child = command(&std::env::temp_dir())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().ok_or("no standard input")?;
        stdin.write_all(&long).ok();
        drop(stdin);
        let out = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success() && said.is_empty(), "{args:?}: {said}");
    }
    Ok(())
}

#[test]
fn films_are_looked_into_and_written_like_any_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("a.y4m"), film())?;
    let out = limpid(&["info", &at("a.y4m")], b"")?;
    let said = String::from_utf8(out.stdout)?;
    assert!(
        said.contains("frames       3") && said.contains("4:2:0, 8 bit"),
        "{said}"
    );
    let out = limpid(
        &[
            "denoise",
            &at("a.y4m"),
            "-o",
            &at("b.y4m"),
            "--device",
            "cpu",
        ],
        b"",
    )?;
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The usual mask takes nothing from who may read.
        let plain = std::fs::metadata(at("a.y4m"))?.permissions().mode();
        let written = std::fs::metadata(at("b.y4m"))?.permissions().mode();
        assert_eq!(plain & 0o777, written & 0o777);
    }
    Ok(())
}

/// A grey film with noise of this many frames.
fn grain(width: usize, height: usize, frames: usize) -> Vec<u8> {
    let mut bytes = format!("YUV4MPEG2 W{width} H{height} F25:1 Cmono\n").into_bytes();
    let mut state = 1u32;
    for _ in 0..frames {
        bytes.extend(b"FRAME\n");
        bytes.extend((0..width * height).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            110 + (state >> 24) as u8 % 30
        }));
    }
    bytes
}

/// The sum of squared distances from the middle of the grain.
fn spread(film: &[u8]) -> f64 {
    let away = |v: &u8| (f64::from(*v) - 124.5).powi(2);
    film.iter().skip(60).map(away).sum()
}

#[test]
fn films_are_denoised_in_time_by_themselves() -> Outcome {
    // Odd sizes, one frame, fewer frames than are merged, more.
    for (width, height, frames) in [(33, 27, 1), (40, 31, 3), (37, 25, 8)] {
        let noisy = grain(width, height, frames);
        let out = limpid(&["denoise", "-", "-o", "-", "--device", "cpu"], &noisy)?;
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && said.contains("film"), "{said}");
        assert_eq!(out.stdout.len(), noisy.len());
        assert!(spread(&out.stdout) < 0.3 * spread(&noisy));
        let fast = [
            "denoise",
            "-",
            "-o",
            "-",
            "--device",
            "cpu",
            "--quality",
            "fast",
        ];
        let fast = limpid(&fast, &noisy)?.stdout;
        assert_eq!(fast.len(), noisy.len());
        assert_eq!(fast == out.stdout, frames == 1);
    }
    Ok(())
}

#[test]
fn a_share_of_the_grain_stays() -> Outcome {
    let noisy = grain(40, 32, 4);
    let run = |more: &[&str]| {
        let line = ["denoise", "-", "-o", "-", "--device", "cpu"];
        limpid(&[&line, more].concat(), &noisy)
    };
    let clean = run(&[])?.stdout;
    for method in [&[][..], &["--method", "film"]] {
        let kept = run(&[method, &["--grain", "0.3"]].concat())?.stdout;
        assert_eq!(kept.len(), noisy.len());
        for ((noisy, clean), kept) in noisy.iter().zip(&clean).zip(&kept) {
            let wanted = f64::from(*clean) + 0.3 * (f64::from(*noisy) - f64::from(*clean));
            assert!((f64::from(*kept) - wanted).abs() < 1.0, "{kept} {wanted}");
        }
    }
    let out = run(&["--grain", "2"])?;
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success() && said.contains("0 … 1"), "{said}");
    Ok(())
}

#[test]
fn numbered_pictures_are_a_film() -> Outcome {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    let film = grain(24, 20, 4);
    let begin = film.iter().position(|b| *b == b'\n').unwrap_or(0) + 1;
    for (t, frame) in film[begin..].chunks(6 + 24 * 20).enumerate() {
        let mut picture = b"PF\n24 20\n-1.0\n".to_vec();
        let shown = |v: &u8| [f32::from(*v) / 255.0; 3];
        picture.extend(frame[6..].iter().flat_map(shown).flat_map(f32::to_le_bytes));
        std::fs::write(at(&format!("in.{t:04}.pfm")), picture)?;
    }
    let out = limpid(
        &[
            "denoise",
            &at("in.####.pfm"),
            "-o",
            &at("out.####.pfm"),
            "--device",
            "cpu",
        ],
        b"",
    )?;
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    for t in 0..4 {
        assert_eq!(
            std::fs::read(at(&format!("out.{t:04}.pfm")))?.len(),
            14 + 24 * 20 * 12
        );
    }
    Ok(())
}

#[test]
fn svgf_says_once_why_it_is_not_for_films() -> Outcome {
    let args = [
        "denoise", "-", "-o", "-", "--method", "svgf", "--device", "cpu",
    ];
    let out = limpid(&args, &film())?;
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert_eq!(said.matches("svgf").count(), 1, "{said}");
    assert!(said.contains("normals and motion vectors"), "{said}");
    Ok(())
}

#[test]
fn films_are_compared() -> Outcome {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("a.y4m"), grain(32, 24, 3))?;
    std::fs::write(at("b.y4m"), grain(32, 24, 3))?;
    std::fs::write(at("short.y4m"), grain(32, 24, 2))?;
    let out = limpid(
        &[
            "compare",
            &at("a.y4m"),
            "--reference",
            &at("b.y4m"),
            "--json",
        ],
        b"",
    )?;
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(text.matches("\"frame\":").count(), 3, "{text}");
    let out = limpid(
        &["compare", &at("a.y4m"), "--reference", &at("short.y4m")],
        b"",
    )?;
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        !out.status.success() && said.contains("ends before"),
        "{said}"
    );
    Ok(())
}

/// A program in place of ffmpeg that stops reading, as ffmpeg does when the disk is full.
#[cfg(unix)]
#[test]
fn an_encoder_that_fails_is_an_error() -> Outcome {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir()?;
    let ffmpeg = folder.path().join("ffmpeg");
    std::fs::write(&ffmpeg, "#!/bin/sh\necho the disk is full >&2\nexit 1\n")?;
    std::fs::set_permissions(&ffmpeg, std::fs::Permissions::from_mode(0o755))?;
    std::fs::write(folder.path().join("a.y4m"), grain(64, 48, 400))?;
    let search = std::env::var("PATH").unwrap_or_default();
    let out = command(folder.path())
        .args("denoise a.y4m -o b.mp4 --method taa --device cpu".split(' '))
        .env("PATH", format!("{}:{search}", folder.path().display()))
        .output()?;
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("the disk is full"), "{said}");
    Ok(())
}
