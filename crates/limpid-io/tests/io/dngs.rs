//! DNG files: mosaics as cameras and converters store them, which are made here.

use super::scratch;
use limpid_core::{Frame, Image};
use limpid_io::dng::{self, Raw};
use limpid_io::{self as io, Format, ReadOptions, WriteOptions};

/// A file to be made.
struct Dng {
    little: bool,
    bits: usize,
    /// The sides of tiles; strips of three rows if `None`.
    tiles: Option<(usize, usize)>,
    size: (usize, usize),
    orientation: u16,
    /// Entries of the picture's directory besides those of its pixels.
    more: Vec<(u16, u16, Vec<f64>)>,
    values: Vec<u16>,
}

const BYTE: u16 = 1;
const SHORT: u16 = 3;
const LONG: u16 = 4;
const RATIONAL: u16 = 5;
const SIGNED: u16 = 10;
const DOUBLE: u16 = 12;

impl Dng {
    fn new((width, height): (usize, usize), bits: usize) -> Self {
        let value = |i: usize| ((i * 37 + i / width * 11) % (1 << bits)) as u16;
        Self {
            little: true,
            bits,
            tiles: None,
            size: (width, height),
            orientation: 1,
            more: vec![
                (33421, SHORT, vec![2.0, 2.0]),
                (33422, BYTE, vec![0.0, 1.0, 1.0, 2.0]),
                (50714, SHORT, vec![16.0]),
                (50717, LONG, vec![((1 << bits) - 1) as f64]),
            ],
            values: (0..width * height).map(value).collect(),
        }
    }

    fn with(mut self, tag: u16, kind: u16, values: &[f64]) -> Self {
        self.more.retain(|m| m.0 != tag);
        self.more.push((tag, kind, values.to_vec()));
        self
    }

    fn number(&self, value: u64, length: usize) -> Vec<u8> {
        let bytes = value.to_le_bytes();
        match self.little {
            true => bytes[..length].to_vec(),
            false => bytes[..length].iter().rev().copied().collect(),
        }
    }

    fn bytes_of(&self, kind: u16, values: &[f64]) -> Vec<u8> {
        let one = |v: &f64| match kind {
            BYTE => self.number(*v as u64, 1),
            SHORT => self.number(*v as u64, 2),
            LONG => self.number(*v as u64, 4),
            DOUBLE => self.number(v.to_bits(), 8),
            _ => {
                let top = (v * 10_000.0).round() as i32 as u32;
                [self.number(top.into(), 4), self.number(10_000, 4)].concat()
            }
        };
        values.iter().flat_map(one).collect()
    }

    /// The pixels of an area, packed; beyond the picture zeros.
    fn packed(&self, (left, top): (usize, usize), (width, height): (usize, usize)) -> Vec<u8> {
        let mut out = Vec::new();
        for y in top..top + height {
            let (mut held, mut count) = (0u32, 0);
            for x in left..left + width {
                let inside = x < self.size.0 && y < self.size.1;
                let v = if inside {
                    self.values[y * self.size.0 + x]
                } else {
                    0
                };
                if self.bits == 16 {
                    out.extend(self.number(v.into(), 2));
                    continue;
                }
                held = held << self.bits | u32::from(v);
                count += self.bits;
                while count >= 8 {
                    out.push((held >> (count - 8)) as u8);
                    count -= 8;
                }
            }
            if count > 0 {
                out.push((held << (8 - count)) as u8);
            }
        }
        out
    }

    fn directory(&self, out: &mut Vec<u8>, mut entries: Vec<(u16, u16, Vec<f64>)>) -> usize {
        entries.sort_by_key(|e| e.0);
        let mut made = self.number(entries.len() as u64, 2);
        for (tag, kind, values) in entries {
            let mut bytes = self.bytes_of(kind, &values);
            if bytes.len() > 4 {
                let place = out.len() as u64;
                out.extend(bytes);
                bytes = self.number(place, 4);
            }
            bytes.resize(4, 0);
            made.extend(self.number(tag.into(), 2));
            made.extend(self.number(kind.into(), 2));
            made.extend(self.number(values.len() as u64, 4));
            made.extend(bytes);
        }
        made.extend([0; 4]);
        out.resize(out.len().next_multiple_of(2), 0);
        out.extend(made);
        out.len()
    }

    /// A preview in the first directory, the picture in one inside it, EXIF and GPS data, XMP.
    fn bytes(&self) -> Vec<u8> {
        let mut out = if self.little {
            b"II*\0".to_vec()
        } else {
            b"MM\0*".to_vec()
        };
        out.extend([0; 4]);
        let (width, height) = self.size;
        let (wide, high) = self.tiles.unwrap_or((width, 3));
        let (mut places, mut lengths) = (Vec::new(), Vec::new());
        for top in (0..height).step_by(high) {
            for left in (0..width).step_by(wide) {
                let rows = if self.tiles.is_some() {
                    high
                } else {
                    high.min(height - top)
                };
                let data = self.packed((left, top), (wide, rows));
                places.push(out.len() as f64);
                lengths.push(data.len() as f64);
                out.extend(data);
            }
        }
        let start = |entries: usize, end: usize| (end - (6 + 12 * entries)) as f64;
        let mut raw = self.more.clone();
        raw.extend([
            (254, LONG, vec![0.0]),
            (256, LONG, vec![width as f64]),
            (257, LONG, vec![height as f64]),
            (258, SHORT, vec![self.bits as f64]),
            (259, SHORT, vec![1.0]),
            (262, SHORT, vec![32803.0]),
            (277, SHORT, vec![1.0]),
        ]);
        match self.tiles {
            Some(_) => raw.extend([
                (322, SHORT, vec![wide as f64]),
                (323, SHORT, vec![high as f64]),
                (324, LONG, places),
                (325, LONG, lengths),
            ]),
            None => raw.extend([
                (273, LONG, places),
                (278, SHORT, vec![high as f64]),
                (279, LONG, lengths),
            ]),
        }
        let count = raw.len();
        let raw = start(count, self.directory(&mut out, raw));
        let exif = start(
            2,
            self.directory(
                &mut out,
                vec![(34855, SHORT, vec![3200.0]), (37500, 7, vec![])],
            ),
        );
        let gps = start(
            1,
            self.directory(&mut out, vec![(0, BYTE, vec![2.0, 3.0, 0.0, 0.0])]),
        );
        let preview = out.len();
        out.extend([200; 12]);
        let xmp: Vec<f64> = b"<x:xmpmeta kept/>".iter().map(|b| f64::from(*b)).collect();
        let first = vec![
            (254, LONG, vec![1.0]),
            (256, LONG, vec![2.0]),
            (257, LONG, vec![2.0]),
            (258, SHORT, vec![8.0; 3]),
            (259, SHORT, vec![1.0]),
            (262, SHORT, vec![2.0]),
            (273, LONG, vec![preview as f64]),
            (274, SHORT, vec![self.orientation.into()]),
            (277, SHORT, vec![3.0]),
            (279, LONG, vec![12.0]),
            (330, LONG, vec![raw]),
            (700, BYTE, xmp),
            (34665, LONG, vec![exif]),
            (34853, LONG, vec![gps]),
            (50706, BYTE, vec![1.0, 4.0, 0.0, 0.0]),
            (50721, SIGNED, MATRIX.to_vec()),
            (50728, RATIONAL, vec![0.5, 1.0, 0.625]),
            (50778, SHORT, vec![21.0]),
            (50781, BYTE, vec![7.0; 16]),
        ];
        let count = first.len();
        let first = start(count, self.directory(&mut out, first));
        out.splice(4..8, self.number(first as u64, 4));
        out
    }

    fn read(&self) -> Raw {
        self.try_read().unwrap()
    }

    fn try_read(&self) -> limpid_core::Result<Raw> {
        let (_folder, path) = scratch("a.dng");
        std::fs::write(&path, self.bytes()).unwrap();
        dng::read(&path, &ReadOptions::default())
    }
}

/// The matrix of a camera of 2012, XYZ to its colours.
const MATRIX: [f64; 9] = [
    0.6722, -0.0635, -0.0963, -0.4287, 1.2460, 0.2028, -0.0908, 0.2162, 0.5668,
];

#[test]
fn samples_of_all_kinds_are_read() {
    for bits in [8, 10, 12, 14, 16] {
        for little in [true, false] {
            for tiles in [None, Some((16, 16))] {
                let file = Dng {
                    little,
                    tiles,
                    ..Dng::new((21, 18), bits)
                };
                let raw = file.read();
                assert_eq!((raw.image.width(), raw.image.height()), (21, 18));
                assert!(raw.pattern.as_ref().is_some_and(dng::Pattern::is_bayer));
                let white = ((1 << bits) - 1) as f32;
                for (i, v) in file.values.iter().enumerate() {
                    let expected = (f32::from(*v) - 16.0) / (white - 16.0);
                    let found = raw.image.data()[i];
                    assert!(
                        (found - expected).abs() < 1e-5,
                        "{bits} bits at {i}: {found} for {expected}"
                    );
                }
                assert_eq!(raw.iso(), Some(3200));
            }
        }
    }
}

#[test]
fn unchanged_values_come_back_and_everything_else_stays() {
    for (little, bits) in [(true, 12), (false, 16)] {
        let file = Dng {
            little,
            tiles: Some((16, 16)),
            ..Dng::new((50, 35), bits)
        }
        .with(50829, LONG, &[2.0, 4.0, 34.0, 48.0])
        .with(51041, DOUBLE, &[1e-3, 1e-6]);
        let before = file.bytes();
        let raw = file.read();
        assert_eq!((raw.image.width(), raw.image.height()), (44, 32));
        assert_eq!(raw.noise().unwrap()[2], [1e-3, 1e-6]);
        let (_folder, path) = scratch("b.dng");
        raw.write(&path).unwrap();
        let after = std::fs::read(&path).unwrap();
        let again = dng::read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(again.image, raw.image);
        assert_eq!(again.pattern, raw.pattern);
        assert_eq!(again.iso(), Some(3200));
        // The noise is not what it was.
        assert_eq!(again.noise(), None);
        let has = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).any(|w| w == what);
        for what in [&b"<x:xmpmeta kept/>"[..], &[200; 12]] {
            assert!(has(&before, what) && has(&after, what));
        }
        assert_eq!(again.develop().unwrap(), raw.develop().unwrap());
        // Written again, the same.
        let (_folder, second) = scratch("c.dng");
        again.write(&second).unwrap();
        let third = dng::read(&second, &ReadOptions::default()).unwrap();
        assert_eq!(third.image, raw.image);
    }
}

#[test]
fn changed_values_are_written() {
    let file = Dng::new((40, 30), 14);
    let mut raw = file.read();
    raw.image
        .data_mut()
        .iter_mut()
        .for_each(|v| *v = 0.25 + 0.5 * *v);
    let (_folder, path) = scratch("b.dng");
    raw.write(&path).unwrap();
    let again = dng::read(&path, &ReadOptions::default()).unwrap();
    for (a, b) in again.image.data().iter().zip(raw.image.data()) {
        assert!((a - b).abs() < 0.13 / 16367.0, "{a} for {b}");
    }
}

#[test]
fn tables_make_values_linear() {
    let table: Vec<f64> = (0..256).map(|v| f64::from(v * v)).collect();
    let file = Dng::new((20, 12), 8)
        .with(50712, SHORT, &table)
        .with(50714, SHORT, &[0.0])
        .with(50717, LONG, &[65025.0]);
    let raw = file.read();
    for (found, v) in raw.image.data().iter().zip(&file.values) {
        assert!((found - f32::from(*v).powi(2) / 65025.0).abs() < 1e-6);
    }
    let (_folder, path) = scratch("b.dng");
    raw.write(&path).unwrap();
    assert_eq!(
        dng::read(&path, &ReadOptions::default()).unwrap().image,
        raw.image
    );
}

/// A grey wall under the light of the shot is grey, whatever the camera sees of it, and clipped light is white.
#[test]
fn white_is_white() {
    let neutral = [0.5, 1.0, 0.625];
    for (light, expected) in [(0.5f64, 0.735_36), (2.5, 1.0)] {
        let mut file = Dng::new((32, 24), 16);
        let color = |i: usize| match (i % 32 % 2, i / 32 % 2) {
            (0, 0) => 0,
            (1, 1) => 2,
            _ => 1,
        };
        let value = |i: usize| (16.0 + (65519.0 * light * neutral[color(i)]).min(65519.0)) as u16;
        file.values = (0..32 * 24).map(value).collect();
        let made = file.read().develop().unwrap();
        for v in made.data() {
            assert!((v - expected).abs() < 2e-3, "{v} for {expected}");
        }
    }
}

#[test]
fn pictures_are_cropped_turned_and_read_like_any_other() {
    let file = Dng {
        orientation: 6,
        ..Dng::new((40, 30), 12)
    }
    .with(50719, LONG, &[4.0, 2.0])
    .with(50720, LONG, &[32.0, 24.0]);
    let (_folder, path) = scratch("a.dng");
    std::fs::write(&path, file.bytes()).unwrap();
    let picture = io::read(&path, &ReadOptions::default()).unwrap();
    let size = picture.frame.size();
    assert_eq!((size.width, size.height), (24, 32));
    assert_eq!(picture.origin.iso(), Some(3200));
    assert_eq!(picture.origin.format(), Format::Dng);
    // By its content, too.
    let (_folder, other) = scratch("a.tif");
    std::fs::write(&other, file.bytes()).unwrap();
    let again = io::read(&other, &ReadOptions::default()).unwrap();
    assert_eq!(again.frame, picture.frame);
    assert_eq!(again.notes.len(), 1, "{:?}", again.notes);
}

#[test]
fn new_files_are_linear() {
    let light = Image::from_fn(700, 20, 3, |x, y, c| {
        ((x * 3 + y * 5 + c * 7) % 100) as f32 / 100.0
    });
    let (_folder, path) = scratch("a.dng");
    io::write(
        &path,
        &Frame::new(light.clone()).unwrap(),
        None,
        &WriteOptions::default(),
    )
    .unwrap();
    let raw = dng::read(&path, &ReadOptions::default()).unwrap();
    assert!(raw.pattern.is_none());
    let worst = |a: &Image, b: &Image| {
        a.data()
            .iter()
            .zip(b.data())
            .fold(0.0f32, |m, (a, b)| m.max((a - b).abs()))
    };
    assert!(worst(&raw.image, &light) < 1e-5);
    let shown = Image::from_fn(700, 20, 3, |x, y, c| {
        limpid_core::linear_to_srgb(light.get(x, y, c))
    });
    assert!(worst(&raw.develop().unwrap(), &shown) < 2e-3);
}

#[test]
fn what_is_not_read_is_told() {
    let said = |file: Dng| file.try_read().unwrap_err().to_string();
    let error = said(Dng::new((8, 8), 12).with(33422, BYTE, &[3.0, 4.0, 5.0, 1.0]));
    assert!(error.contains("mosaic of other colours"), "{error}");
    let bytes = Dng::new((8, 8), 12).bytes();
    for end in [9, 40, bytes.len() / 2] {
        let (_folder, path) = scratch("a.dng");
        std::fs::write(&path, &bytes[..end]).unwrap();
        assert!(dng::read(&path, &ReadOptions::default()).is_err());
    }
    let (_folder, path) = scratch("a.png");
    io::write(
        &path,
        &Frame::new(Image::new(2, 2, 3)).unwrap(),
        None,
        &WriteOptions::default(),
    )
    .unwrap();
    let error = dng::read(&path, &ReadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("expected DNG"), "{error}");
}
