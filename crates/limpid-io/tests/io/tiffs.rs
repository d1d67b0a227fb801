//! TIFF files as other programs write them: byte orders, tiles, planes, palettes, orders of bits; and raw files, which are refused.

use crate::rasters::survives;
use crate::{read, scratch, write};
use limpid_core::{Frame, Image, Kind};
use limpid_io::{self as io, ReadOptions, WriteOptions};
use std::io::Cursor;
use tiff::encoder::{TiffEncoder, colortype as tc};
use tiff::tags::Tag;

/// A file of one directory, written by hand.
struct Tiff {
    big_endian: bool,
    /// Tag, type (3: 16 bit, 4: 32 bit) and values.
    entries: Vec<(u16, u16, Vec<u32>)>,
    /// Strips or tiles.
    data: Vec<Vec<u8>>,
    tiled: bool,
    /// A directory inside the first: its photometric interpretation.
    child: Option<u32>,
}

impl Tiff {
    fn new((width, height): (u32, u32), bits: &[u32], photometric: u32) -> Self {
        let samples = bits.len() as u32;
        Self {
            big_endian: false,
            entries: vec![
                (256, 4, vec![width]),
                (257, 4, vec![height]),
                (258, 3, bits.to_vec()),
                (259, 3, vec![1]),
                (262, 3, vec![photometric]),
                (277, 3, vec![samples]),
                (278, 4, vec![height]),
            ],
            data: Vec::new(),
            tiled: false,
            child: None,
        }
    }

    fn with(mut self, tag: u16, kind: u16, values: &[u32]) -> Self {
        self.entries.retain(|e| e.0 != tag);
        self.entries.push((tag, kind, values.to_vec()));
        self
    }

    fn number(&self, value: u32, length: usize) -> Vec<u8> {
        match self.big_endian {
            true => value.to_be_bytes()[4 - length..].to_vec(),
            false => value.to_le_bytes()[..length].to_vec(),
        }
    }

    fn directory(&self, entries: &[(u16, u16, Vec<u32>)], file: &mut Vec<u8>) -> u32 {
        let mut inside = Vec::new();
        for (tag, kind, values) in entries {
            let width = if *kind == 3 { 2 } else { 4 };
            let mut bytes: Vec<u8> = values.iter().flat_map(|v| self.number(*v, width)).collect();
            // A rational is two numbers.
            let count = if *kind == 5 { 1 } else { values.len() };
            if bytes.len() > 4 {
                let at = file.len() as u32;
                file.append(&mut bytes);
                bytes = self.number(at, 4);
            }
            bytes.resize(4, 0);
            inside.extend(self.number((*tag).into(), 2));
            inside.extend(self.number((*kind).into(), 2));
            inside.extend(self.number(count as u32, 4));
            inside.extend(bytes);
        }
        let at = file.len() as u32;
        file.extend(self.number(entries.len() as u32, 2));
        file.extend(inside);
        file.extend([0; 4]);
        at
    }

    fn bytes(&self) -> Vec<u8> {
        let mut file = if self.big_endian {
            b"MM\0*\0\0\0\0".to_vec()
        } else {
            b"II*\0\0\0\0\0".to_vec()
        };
        let mut entries = self.entries.clone();
        let (mut places, mut lengths) = (Vec::new(), Vec::new());
        for part in &self.data {
            places.push(file.len() as u32);
            lengths.push(part.len() as u32);
            file.extend(part);
        }
        let [at, length] = if self.tiled { [324, 325] } else { [273, 279] };
        entries.push((at, 4, places));
        entries.push((length, 4, lengths));
        if let Some(kind) = self.child {
            let child = [(262, 3, vec![kind])];
            let at = self.directory(&child, &mut file);
            entries.push((330, 4, vec![at]));
        }
        entries.sort_by_key(|e| e.0);
        let first = self.directory(&entries, &mut file);
        let first = self.number(first, 4);
        file[4..8].copy_from_slice(&first);
        file
    }

    /// The colour of the file, which is also written and read again.
    fn color(&self) -> (Image, Vec<String>) {
        let (_folder, path) = scratch("a.tif");
        std::fs::write(&path, self.bytes()).unwrap();
        let picture = read(&path);
        let again = path.with_file_name("b.tif");
        let options = WriteOptions::default();
        io::write(&again, &picture.frame, Some(&picture.origin), &options).unwrap();
        let (first, second) = (picture.frame.color().unwrap(), read(&again).frame);
        let pairs = first.data().iter().zip(second.color().unwrap().data());
        // Palettes have 16 bits and are written with 8.
        assert!(pairs.clone().count() == first.data().len());
        assert!(pairs.map(|(a, b)| (a - b).abs()).all(|off| off < 0.002));
        (picture.frame.color().unwrap().clone(), picture.notes)
    }

    fn error(&self, name: &str) -> String {
        let (_folder, path) = scratch(name);
        std::fs::write(&path, self.bytes()).unwrap();
        let error = io::read(&path, &ReadOptions::default()).unwrap_err();
        error.to_string()
    }
}

#[test]
fn tiff_of_the_other_byte_order_is_written_again() {
    let mut file = Tiff::new((3, 2), &[16], 1)
        .with(282, 5, &[300, 1])
        .with(274, 3, &[6]);
    file.big_endian = true;
    let data: Vec<u8> = (0..6_u16).flat_map(|i| (i * 1000).to_be_bytes()).collect();
    file.data = vec![data];
    let (color, _) = file.color();
    assert_eq!(color.get(2, 1, 0), 5000.0 / 65535.0);
}

#[test]
fn tiff_of_separate_planes_in_tiles_is_read() {
    // 20×18 in tiles of 16×16: four tiles for each plane.
    let value = |x: u32, y: u32, c: u32| (x * 3 + y * 5 + c * 70) as u8;
    let mut file = Tiff::new((20, 18), &[8, 8, 8], 2)
        .with(284, 3, &[2])
        .with(322, 3, &[16])
        .with(323, 3, &[16]);
    file.entries.retain(|e| e.0 != 278);
    file.tiled = true;
    for c in 0..3 {
        for (left, top) in [(0, 0), (16, 0), (0, 16), (16, 16)] {
            let pixel = |i: u32| value(left + i % 16, top + i / 16, c);
            file.data.push((0..256).map(pixel).collect());
        }
    }
    let (color, _) = file.color();
    for (x, y, c) in [(0, 0, 0), (19, 17, 2), (17, 3, 1), (3, 17, 0)] {
        let expected = f32::from(value(x, y, c)) / 255.0;
        assert_eq!(color.get(x as usize, y as usize, c as usize), expected);
    }
}

#[test]
fn tiff_palettes_become_colours() {
    for bits in [1, 4, 8] {
        let colors = 1_u32 << bits;
        let map: Vec<u32> = (0..3 * colors).map(|i| (i * 257) % 65536).collect();
        let mut file = Tiff::new((3, 1), &[bits], 3).with(320, 3, &map);
        file.data = vec![match bits {
            1 => vec![0b0100_0000],
            4 => vec![0x01, 0x00],
            _ => vec![0, 1, 0],
        }];
        let (color, notes) = file.color();
        for c in 0..3 {
            let expected = |i: usize| (map[c * colors as usize + i] as f32) / 65535.0;
            assert_eq!(color.get(0, 0, c), expected(0), "{bits}");
            assert_eq!(color.get(1, 0, c), expected(1), "{bits}");
        }
        assert!(notes.join(" ").contains("palette"), "{notes:?}");
    }
}

#[test]
fn tiff_bits_from_right_to_left_and_rows_with_rests_are_read() {
    // Ten pixels of one bit in two bytes a row; FillOrder 2 reverses each byte.
    for (order, row) in [
        (1, [0b1000_0001, 0b0100_0000]),
        (2, [0b1000_0001, 0b0000_0010]),
    ] {
        let mut file = Tiff::new((10, 2), &[1], 1).with(266, 3, &[order]);
        file.data = vec![[row, row].concat()];
        let (color, _) = file.color();
        for y in 0..2 {
            let set: Vec<usize> = (0..10).filter(|x| color.get(*x, y, 0) == 1.0).collect();
            assert_eq!(set, [0, 7, 9], "order {order}");
        }
    }
}

#[test]
fn tiff_luma_and_chroma_become_colours() {
    let mut file = Tiff::new((2, 1), &[8, 8, 8], 6).with(530, 3, &[1, 1]);
    file.data = vec![vec![76, 85, 255, 128, 128, 128]];
    let (color, _) = file.color();
    // Red, and grey.
    assert!(color.get(0, 0, 0) > 0.98 && color.get(0, 0, 1) < 0.02 && color.get(0, 0, 2) < 0.02);
    assert!((0..3).all(|c| (color.get(1, 0, c) - 128.0 / 255.0).abs() < 0.005));
}

/// Display values that a file stores multiplied by alpha are straight in a frame and in other formats, and are multiplied again.
#[test]
fn tiff_of_values_multiplied_by_alpha_is_read_and_written_as_such() {
    let pixels = [[6000_u16, 3000, 0, 12000], [0; 4], [60000, 1, 500, 65535]];
    let mut file = Tiff::new((3, 1), &[16; 4], 2).with(338, 3, &[1]);
    let bytes = pixels.iter().flatten().flat_map(|v| v.to_le_bytes());
    file.data = vec![bytes.collect()];
    let (_folder, path) = scratch("a.tif");
    std::fs::write(&path, file.bytes()).unwrap();
    let mut picture = read(&path);
    let values = |frame: &Frame, x| [0, 1, 2].map(|c| frame.color().unwrap().get(x, 0, c));
    assert_eq!(values(&picture.frame, 0), [0.5, 0.25, 0.0]);
    assert_eq!(values(&picture.frame, 2)[0], 60000.0 / 65535.0);
    let again = path.with_file_name("b.tif");
    write(&again, &picture.frame, Some(&picture.origin));
    assert_eq!(read(&again).frame, picture.frame);
    // With the 16 bits of the source.
    let png = path.with_file_name("b.png");
    write(&png, &picture.frame, Some(&picture.origin));
    let shown = read(&png).frame;
    assert_eq!(shown.get(Kind::Alpha), picture.frame.get(Kind::Alpha));
    let far = |x: usize| {
        let (a, b) = (values(&shown, x), values(&picture.frame, x));
        (0..3).map(|c| (a[c] - b[c]).abs()).fold(0.0, f32::max)
    };
    assert!(far(0).max(far(2)) < 1e-5, "{} {}", far(0), far(2));
    // What a filter leaves in clear pixels is not added to what lies behind them.
    let bright = picture.frame.color().unwrap().map(|v| v + 0.1);
    picture.frame.insert(Kind::Color, bright).unwrap();
    write(&again, &picture.frame, Some(&picture.origin));
    let stored = std::fs::read(&again).unwrap();
    let mut decoder = tiff::decoder::Decoder::new(Cursor::new(stored)).unwrap();
    let tiff::decoder::DecodingResult::U16(stored) = decoder.read_image().unwrap() else {
        panic!("16 bit");
    };
    assert_eq!(stored[4..8], [0; 4]);
    assert_eq!(stored[0], 7200);
}

#[test]
fn tiff_that_is_not_read_is_refused_in_words() {
    let file = |compression: u32, format: u32| {
        let mut file = Tiff::new((2, 1), &[16], 1)
            .with(259, 3, &[compression])
            .with(339, 3, &[format]);
        file.data = vec![vec![1, 2, 3, 4]];
        file
    };
    let error = file(34925, 1).error("a.tif");
    assert!(error.contains("compressed with LZMA"), "{error}");
    let mut twelve = Tiff::new((2, 1), &[12], 1);
    twelve.data = vec![vec![1, 2, 3]];
    let error = twelve.error("a.tif");
    assert!(error.contains("12 bit samples"), "{error}");
    let mut lab = Tiff::new((1, 1), &[8, 8, 8], 8);
    lab.data = vec![vec![1, 2, 3]];
    let error = lab.error("a.tif");
    assert!(error.contains("TIFF with Lab"), "{error}");
    let error = file(1, 2).error("a.tif");
    assert!(error.contains("16 bit signed integers"), "{error}");
}

#[test]
fn the_preview_in_a_raw_file_is_not_taken_for_the_picture() {
    let thumbnail = || {
        let mut file = Tiff::new((2, 1), &[8, 8, 8], 2);
        file.data = vec![vec![9; 6]];
        file
    };
    // By its name, by the sensor's values in it, and by the mark of a smaller copy.
    let error = thumbnail().error("a.KDC");
    assert!(error.contains("raw file"), "{error}");
    let mut file = thumbnail();
    file.child = Some(32803);
    let error = file.error("a.tif");
    assert!(error.contains("raw file"), "{error}");
    let mut file = thumbnail().with(254, 4, &[1]);
    file.child = Some(2);
    let error = file.error("a.tif");
    assert!(error.contains("smaller copy"), "{error}");
}

/// The place on the Earth, and what a microscope says of its picture.
#[test]
fn tiff_tags_of_maps_and_microscopes_survive() {
    let (_folder, path) = scratch("a.tif");
    let mut file = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut file).unwrap();
    let mut image = encoder.new_image::<tc::Gray8>(9, 5).unwrap();
    let tags = image.encoder();
    let tag = Tag::from_u16_exhaustive;
    let scale = [30.0, 30.0, 0.0];
    tags.write_tag(tag(33550), &scale[..]).unwrap();
    tags.write_tag(tag(33922), &[0.0, 0.0, 0.0, 6e5, 4.9e6, 0.0][..])
        .unwrap();
    tags.write_tag(tag(34735), &[1u16, 1, 0, 1, 1024, 0, 1, 1][..])
        .unwrap();
    tags.write_tag(tag(34682), "[Beam]\nHV=5000").unwrap();
    image.write_data(&[7; 45]).unwrap();
    std::fs::write(&path, file.into_inner()).unwrap();
    survives(&path);
    let again = std::fs::read(path.with_file_name("again-a.tif")).unwrap();
    let mut decoder = tiff::decoder::Decoder::new(Cursor::new(again)).unwrap();
    assert_eq!(decoder.get_tag_f64_vec(tag(33550)).unwrap(), scale);
    assert_eq!(decoder.get_tag_f64_vec(tag(33922)).unwrap()[4], 4.9e6);
    assert_eq!(decoder.get_tag_u16_vec(tag(34735)).unwrap()[4], 1024);
    let text = decoder.get_tag_ascii_string(tag(34682)).unwrap();
    assert_eq!(text, "[Beam]\nHV=5000");
}
