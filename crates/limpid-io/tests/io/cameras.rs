//! Raw files of cameras, which are made here: the kinds that store samples of 16 bits.

use super::scratch;
use limpid_io::{self as io, Format, ReadOptions, dng};

const WIDTH: usize = 64;
const HEIGHT: usize = 48;

const BYTE: u16 = 1;
const ASCII: u16 = 2;
const SHORT: u16 = 3;
const LONG: u16 = 4;
const RATIONAL: u16 = 5;

/// Directories of a file in little-endian order.
struct File {
    bytes: Vec<u8>,
}

impl File {
    fn longs(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn directory(&mut self, mut entries: Vec<(u16, u16, Vec<u8>)>) -> u32 {
        entries.sort_by_key(|e| e.0);
        let mut listed = (entries.len() as u16).to_le_bytes().to_vec();
        for (tag, kind, mut value) in entries {
            let count = value.len() / [1, 1, 1, 2, 4, 8][usize::from(kind)];
            if value.len() > 4 {
                let place = Self::longs(&[self.bytes.len() as u32]);
                self.bytes.extend(std::mem::replace(&mut value, place));
            }
            value.resize(4, 0);
            listed.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
            listed.extend(Self::longs(&[count as u32]));
            listed.extend(value);
        }
        let at = self.bytes.len() as u32;
        self.bytes.extend(listed);
        self.bytes.extend([0; 4]);
        at
    }
}

fn value(x: usize, y: usize) -> u16 {
    1000 + ((y * WIDTH + x) * 37 % 3000) as u16
}

/// A raw file with EXIF and GPS data; the picture lies in the first directory or, behind a preview, inside it.
fn made(make: &str, model: &str, inside: bool) -> Vec<u8> {
    let mut file = File {
        bytes: b"II*\0\0\0\0\0".to_vec(),
    };
    let pixels = (0..HEIGHT).flat_map(|y| (0..WIDTH).flat_map(move |x| value(x, y).to_le_bytes()));
    file.bytes.extend(pixels);
    let text = |text: &str| format!("{text}\0").into_bytes();
    let short = |v: u16| v.to_le_bytes().to_vec();
    let long = |v: usize| File::longs(&[v as u32]);
    let exif = file.directory(vec![
        (33434, RATIONAL, File::longs(&[1, 250])),
        (34855, SHORT, short(3200)),
        (36867, ASCII, text("2024:05:06 07:08:09")),
        (42036, ASCII, text("a lens of 50 mm")),
    ]);
    let gps = file.directory(vec![
        (1, ASCII, text("N")),
        (2, RATIONAL, File::longs(&[47, 1, 30, 1, 0, 1])),
    ]);
    let picture = vec![
        (254, LONG, long(0)),
        (256, LONG, long(WIDTH)),
        (257, LONG, long(HEIGHT)),
        (258, SHORT, short(14)),
        (259, SHORT, short(1)),
        (262, SHORT, short(32803)),
        (273, LONG, long(8)),
        (277, SHORT, short(1)),
        (278, LONG, long(HEIGHT)),
        (279, LONG, long(2 * WIDTH * HEIGHT)),
        (33421, SHORT, [short(2), short(2)].concat()),
        (33422, BYTE, vec![0, 1, 1, 2]),
    ];
    let mut first = vec![
        (271, ASCII, text(make)),
        (272, ASCII, text(model)),
        (274, SHORT, short(6)),
        (315, ASCII, text("a photographer")),
        (34665, LONG, File::longs(&[exif])),
        (34853, LONG, File::longs(&[gps])),
    ];
    match inside {
        true => {
            let at = file.directory(picture);
            first.push((254, LONG, long(1)));
            first.push((330, LONG, File::longs(&[at])));
        }
        false => first.extend(picture),
    }
    let at = file.directory(first);
    file.bytes[4..8].copy_from_slice(&at.to_le_bytes());
    file.bytes
}

const CAMERAS: [(&str, &str, &str, bool); 4] = [
    ("a.NEF", "NIKON CORPORATION", "NIKON D850", true),
    ("a.arw", "SONY", "ILCE-7M3", true),
    ("a.pef", "PENTAX", "PENTAX K-5 II", false),
    ("a.srw", "SAMSUNG", "NX300", false),
];

#[test]
fn files_of_cameras_become_dng_files() {
    for (name, make, model, inside) in CAMERAS {
        let (folder, path) = scratch(name);
        std::fs::write(&path, made(make, model, inside)).unwrap();
        let raw = dng::read(&path, &ReadOptions::default()).unwrap();
        assert!(raw.pattern.as_ref().unwrap().is_bayer(), "{name}");
        assert_eq!(raw.pattern.as_ref().unwrap().color(1, 1), 2, "{name}");
        assert_eq!(raw.iso(), Some(3200), "{name}");
        assert_eq!((raw.image.width(), raw.image.height()), (WIDTH, HEIGHT));
        // The samples, whatever the levels of the camera are.
        let light = |x: usize, y: usize| raw.image.get(x, y, 0);
        let scale = (light(1, 0) - light(0, 0)) / 37.0;
        assert!(scale > 1e-5 && scale < 1e-3, "{name}: {scale}");
        for (x, y) in [(5, 0), (63, 47), (0, 20), (40, 31)] {
            let steps = (light(x, y) - light(0, 0)) / scale;
            let wanted = f32::from(value(x, y)) - f32::from(value(0, 0));
            assert!((steps - wanted).abs() < 0.5, "{name}: {steps} for {wanted}");
        }
        let out = folder.path().join("b.dng");
        raw.write(&out).unwrap();
        let bytes = std::fs::read(&out).unwrap();
        let words = [
            make,
            model,
            "a photographer",
            "a lens of 50 mm",
            "2024:05:06",
        ];
        for word in words {
            let found = bytes.windows(word.len()).any(|w| w == word.as_bytes());
            assert!(found, "{name}: {word} is lost");
        }
        let again = dng::read(&out, &ReadOptions::default()).unwrap();
        assert_eq!(again.image, raw.image, "{name}");
        assert_eq!(again.balance(), raw.balance(), "{name}");
        // Developed, the picture is upright.
        let picture = io::read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(picture.origin.format(), Format::Dng);
        assert_eq!(picture.frame.size().width, HEIGHT, "{name}");
        let linear = folder.path().join("c.dng");
        raw.write_linear(&linear).unwrap();
        let linear = dng::read(&linear, &ReadOptions::default()).unwrap();
        assert!(linear.pattern.is_none() && linear.iso() == Some(3200));
        let error = |a: &limpid_core::Image, b: &limpid_core::Image| {
            let pairs = a.data().iter().zip(b.data());
            pairs.fold(0.0f32, |m, (a, b)| m.max((a - b).abs()))
        };
        let off = error(&linear.develop().unwrap(), &raw.develop().unwrap());
        assert!(off < 0.01, "{name}: {off}");
    }
}

/// A small picture in a raw file is never taken for the raw picture.
#[test]
fn thumbnails_are_not_pictures() {
    let mut file = File {
        bytes: b"II*\0\0\0\0\0".to_vec(),
    };
    file.bytes.extend([128; 8 * 8 * 3]);
    let long = |v: u32| File::longs(&[v]);
    let at = file.directory(vec![
        (254, LONG, long(1)),
        (256, LONG, long(8)),
        (257, LONG, long(8)),
        (
            258,
            SHORT,
            [8u16, 8, 8].iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        (259, SHORT, vec![1, 0]),
        (262, SHORT, vec![2, 0]),
        (271, ASCII, b"EASTMAN KODAK COMPANY\0".to_vec()),
        (272, ASCII, b"KODAK DC40 ZOOM DIGITAL CAMERA\0".to_vec()),
        (273, LONG, long(8)),
        (277, SHORT, vec![3, 0]),
        (278, LONG, long(8)),
        (279, LONG, long(192)),
    ]);
    file.bytes[4..8].copy_from_slice(&at.to_le_bytes());
    for name in ["a.kdc", "a.nef", "a.cr2", "a.dcr"] {
        let (_folder, path) = scratch(name);
        std::fs::write(&path, &file.bytes).unwrap();
        let error = io::read(&path, &ReadOptions::default()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(name) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn other_files_with_the_names_of_raw_files_are_refused() {
    let (folder, path) = scratch("a.cr3");
    let frame = limpid_core::Frame::new(limpid_core::Image::new(4, 4, 3)).unwrap();
    let png = folder.path().join("a.png");
    io::write(&png, &frame, None, &io::WriteOptions::default()).unwrap();
    std::fs::rename(&png, &path).unwrap();
    let text = io::read(&path, &ReadOptions::default()).unwrap_err();
    assert!(
        text.to_string().contains("the content is PNG; rename it"),
        "{text}"
    );
    std::fs::write(&path, [7; 4000]).unwrap();
    let text = io::read(&path, &ReadOptions::default()).unwrap_err();
    assert!(text.to_string().contains("convert it to DNG"), "{text}");
}

/// Damage is an error or another picture, never a panic: this goes around the guard of [`io::read`].
#[test]
fn damaged_files_of_cameras_are_survived() {
    let options = ReadOptions::default();
    for (name, make, model, inside) in CAMERAS {
        let bytes = made(make, model, inside);
        let read = |b: &[u8]| io::read_bytes(b, Format::Dng, name.as_ref(), &options).is_ok();
        assert!(read(&bytes), "{name}");
        for end in (0..bytes.len()).step_by(61) {
            read(&bytes[..end]);
        }
        let mut state = 1u32;
        let mut dice = |n: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % n
        };
        let pixels = 8 + 2 * WIDTH * HEIGHT;
        for _ in 0..300 {
            let mut wild = bytes.clone();
            for _ in 0..1 + dice(4) {
                let at = match dice(8) {
                    0 => dice(8),
                    _ => pixels + dice(bytes.len() - pixels),
                };
                wild[at] ^= 1 << dice(8);
            }
            read(&wild);
        }
    }
}

/// The size is judged before the pixels are decoded.
#[test]
fn sizes_are_limited() {
    let mut options = ReadOptions::default();
    options.limit = 10_000;
    let bytes = made("NIKON CORPORATION", "NIKON D850", true);
    let error = io::decode(&bytes, "a.nef", &options).unwrap_err();
    assert!(error.to_string().contains("limit"), "{error}");
}
