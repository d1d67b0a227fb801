//! Raw files: noise goes from the mosaic, everything else stays, and pictures are developed.

use super::{limpid, said, works};
use limpid::io::{self, ReadOptions};
use limpid::{Frame, Image};
use std::path::Path;

const N: usize = 96;

/// A DNG file of a grey wall with noise, red, green, green, blue: one directory, one strip.
fn dng() -> Vec<u8> {
    raw(&[], |i| [[0, 1], [1, 2]][i / N % 2][i % 2])
}

/// The same as a camera writes it: without DNG's entries, with a maker and a model.
fn pef() -> Vec<u8> {
    let camera: [(u16, u16, Vec<u8>); 2] = [
        (271, 2, b"PENTAX\0".to_vec()),
        (272, 2, b"PENTAX K-5 II\0".to_vec()),
    ];
    raw(&camera, |i| [[0, 1], [1, 2]][i / N % 2][i % 2])
}

/// The tiles of X-Trans sensors.
const XTRANS: &[u8; 36] = b"GBGGRGRGRBGBGBGGRGGRGGBGBGBRGRGRGGBG";

fn letter(i: usize) -> usize {
    let at = XTRANS[i / N % 6 * 6 + i % N % 6];
    b"RGB".iter().position(|b| *b == at).unwrap()
}

/// A file of a grey wall with noise, in any colours. A camera's own file has none of DNG's entries.
fn raw(camera: &[(u16, u16, Vec<u8>)], which: impl Fn(usize) -> usize) -> Vec<u8> {
    let is_dng = camera.iter().all(|e| e.0 != 271);
    let mut state = 5u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let mut out = b"II*\0\0\0\0\0".to_vec();
    for i in 0..N * N {
        let color = [0.5, 1.0, 0.6][which(i)];
        let noise = (0..12).map(|_| uniform()).sum::<f32>() - 6.0;
        out.extend(((1000.0 + 20_000.0 * color + 1500.0 * noise) as u16).to_le_bytes());
    }
    let longs =
        |values: &[u32]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
    let parts = |values: &[i32]| -> Vec<u8> {
        let pair = |v: &i32| [v.to_le_bytes(), 1000i32.to_le_bytes()].concat();
        values.iter().flat_map(pair).collect()
    };
    let side = N as u32;
    let mut entries: Vec<(u16, u16, Vec<u8>)> = vec![
        (256, 4, longs(&[side])),
        (257, 4, longs(&[side])),
        (258, 4, longs(&[16])),
        (259, 4, longs(&[1])),
        (262, 4, longs(&[32803])),
        (270, 2, b"the wall\0".to_vec()),
        (273, 4, longs(&[8])),
        (278, 4, longs(&[side])),
        (279, 4, longs(&[2 * side * side])),
        (33422, 1, vec![0, 1, 1, 2]),
        (50706, 1, vec![1, 4, 0, 0]),
        (50714, 4, longs(&[1000])),
        (50717, 4, longs(&[41_000])),
        (
            50721,
            10,
            parts(&[672, -64, -96, -429, 1246, 203, -91, 216, 567]),
        ),
        (50728, 5, parts(&[500, 1000, 600])),
        (50778, 4, longs(&[21])),
    ];
    let mut pattern = vec![0, 1, 1, 2];
    if camera.iter().any(|e| e.0 == 33421) {
        pattern = (0..36).map(|i| letter(i / 6 * N + i % 6) as u8).collect();
    }
    entries.retain(|e| is_dng || e.0 < 50_000);
    entries.retain(|e| e.0 != 33422);
    entries.push((33422, 1, pattern));
    entries.extend(camera.iter().cloned());
    entries.sort_by_key(|e| e.0);
    let mut listed = (entries.len() as u16).to_le_bytes().to_vec();
    for (tag, kind, mut value) in entries {
        let count = value.len() / [1, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8][usize::from(kind)];
        if value.len() > 4 {
            let place = longs(&[out.len() as u32]);
            out.extend(std::mem::replace(&mut value, place));
        }
        value.resize(4, 0);
        listed.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
        listed.extend(longs(&[count as u32]));
        listed.extend(value);
    }
    let at = longs(&[out.len() as u32]);
    out[4..8].copy_from_slice(&at);
    out.extend(listed);
    out.extend([0; 4]);
    out
}

/// The standard deviation of the pixels of one colour.
fn spread(path: &Path) -> f32 {
    let raw = io::dng::read(path, &ReadOptions::default()).unwrap();
    let values: Vec<f32> = (0..N * N / 4)
        .map(|i| raw.image.get(i % (N / 2) * 2, i / (N / 2) * 2, 0))
        .collect();
    let mean = values.iter().sum::<f32>() / values.len() as f32;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / values.len() as f32).sqrt()
}

#[test]
fn raw_files_are_denoised_and_developed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    std::fs::write(place.join("a.dng"), dng()).unwrap();
    let got = limpid(place, "denoise a.dng -o b.dng --device cpu");
    assert!(got.status.success(), "{}", said(&got));
    let text = said(&got);
    assert!(
        text.contains(" % at white") && text.contains("written to b.dng"),
        "{text}"
    );
    let (before, after) = (spread(&place.join("a.dng")), spread(&place.join("b.dng")));
    assert!(after < 0.2 * before, "{before} {after}");
    let bytes = std::fs::read(place.join("b.dng")).unwrap();
    assert!(bytes.windows(8).any(|w| w == b"the wall"));
    // Developed, the wall is grey.
    for name in ["c.png", "c.tif", "c.jpg"] {
        works(
            place,
            &format!("denoise a.dng -o {name} --device cpu --quiet"),
        );
        let picture = io::read(place.join(name), &ReadOptions::default()).unwrap();
        for plane in picture.frame.color().unwrap().planes() {
            let mean = plane.iter().sum::<f32>() / plane.len() as f32;
            assert!((mean - 0.735).abs() < 0.01, "{name}: {mean}");
        }
    }
    works(
        place,
        "denoise a.dng -o d.dng --strength 0 --device cpu --quiet",
    );
    assert_eq!(spread(&place.join("d.dng")), before);
    assert!(works(place, "info a.dng").contains("a.dng: DNG\n"));
    works(place, "denoise a.dng b.dng -o out --device cpu --quiet");
    assert!(place.join("out/a.dng").exists() && place.join("out/b.dng").exists());
}

#[test]
fn linear_files_are_denoised_and_other_noise_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let wall = Image::from_fn(64, 64, 3, |x, y, c| {
        0.3 + 0.1 * ((x * 31 + y * 57 + c * 91) % 23) as f32 / 23.0
    });
    io::write(
        place.join("a.dng"),
        &Frame::new(wall).unwrap(),
        None,
        &io::WriteOptions::default(),
    )
    .unwrap();
    works(place, "denoise a.dng -o b.dng --device cpu --quiet");
    let raw = io::dng::read(place.join("b.dng"), &ReadOptions::default()).unwrap();
    assert!(raw.pattern.is_none());
    let got = limpid(
        place,
        "denoise a.dng -o b.dng --sigma 5/255 --device cpu --overwrite",
    );
    assert_eq!(got.status.code(), Some(2));
    assert!(
        said(&got).contains("--sigma is not for raw files"),
        "{}",
        said(&got)
    );
}

/// A camera's own file becomes DNG, also those of a folder; results are kept, and none is written as the camera's format.
#[test]
fn files_of_cameras_are_denoised_to_dng() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    std::fs::create_dir(place.join("in")).unwrap();
    std::fs::write(place.join("in/a.PEF"), pef()).unwrap();
    std::fs::write(place.join("in/b.dng"), dng()).unwrap();
    let text = said(&limpid(place, "denoise in -o out --device cpu --jobs 2"));
    assert!(place.join("out/a.dng").exists(), "{text}");
    assert!(place.join("out/b.dng").exists(), "{text}");
    let (before, after) = (
        spread(&place.join("in/a.PEF")),
        spread(&place.join("out/a.dng")),
    );
    assert!(after < 0.2 * before, "{before} {after}");
    let bytes = std::fs::read(place.join("out/a.dng")).unwrap();
    for word in [&b"PENTAX K-5 II"[..], b"the wall"] {
        assert!(bytes.windows(word.len()).any(|w| w == word));
    }
    assert!(works(place, "info in/a.PEF").contains("a.PEF: PEF\n"));
    let written = || {
        std::fs::metadata(place.join("out/a.dng"))
            .unwrap()
            .modified()
    };
    let first = written().unwrap();
    works(place, "denoise in -o out --device cpu --resume --quiet");
    assert_eq!(written().unwrap(), first);
    works(place, "denoise in/a.PEF -o a.jpg --device cpu --quiet");
    let got = limpid(place, "denoise in/a.PEF -o b.pef --device cpu");
    assert_eq!(got.status.code(), Some(2), "{}", said(&got));
    assert!(said(&got).contains("'pef' is not"), "{}", said(&got));
}

/// The values of X-Trans sensors are denoised as they are, too.
#[test]
fn x_trans_stays_x_trans() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let size = (33421, 3, vec![6, 0, 6, 0]);
    std::fs::write(place.join("a.dng"), raw(&[size], letter)).unwrap();
    works(place, "denoise a.dng -o b.dng --device cpu --quiet");
    let green = |name: &str| {
        let raw = io::dng::read(place.join(name), &ReadOptions::default()).unwrap();
        let pattern = raw.pattern.clone().unwrap();
        assert_eq!(pattern.size(), (6, 6));
        let all = (0..N * N).filter(|i| pattern.color(i % N, i / N) == 1);
        let values: Vec<f32> = all.map(|i| raw.image.get(i % N, i / N, 0)).collect();
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        (values.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / values.len() as f32).sqrt()
    };
    let (before, after) = (green("a.dng"), green("b.dng"));
    assert!(after < 0.25 * before, "{before} {after}");
}

#[test]
fn linear_files_have_three_colours() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    std::fs::write(place.join("a.pef"), pef()).unwrap();
    works(
        place,
        "denoise a.pef -o b.dng --linear --device cpu --quiet",
    );
    let linear = io::dng::read(place.join("b.dng"), &ReadOptions::default()).unwrap();
    assert!(linear.pattern.is_none() && linear.image.channels() == 3);
    let got = limpid(place, "denoise a.pef -o b.jpg --linear --device cpu");
    assert_eq!(got.status.code(), Some(2));
    assert!(
        said(&got).contains("--linear is for raw files"),
        "{}",
        said(&got)
    );
}
