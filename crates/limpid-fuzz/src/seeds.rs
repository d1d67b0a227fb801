//! Valid files to start from, and files with random structure.

use crate::mutate::Dice;
use exr::prelude::{
    AnyChannel, AnyChannels, Blocks, Compression as Method, Encoding, FlatSamples, ImageAttributes,
    Layer, LayerAttributes, LineOrder, Text, Vec2, WritableImage, f16,
};
use limpid::io::{Bits, Compression, Format, Sample, WriteOptions, encode};
use limpid::{Frame, Image, Kind};
use std::io::Cursor;

/// Small files of a format, of every form that is written here.
pub(crate) fn of(format: Format) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (width, height, channels) in [(19, 11, 3), (1, 1, 3), (7, 5, 1), (64, 1, 3)] {
        for alpha in [false, true] {
            for bits in [Bits::Eight, Bits::Sixteen] {
                let mut options = WriteOptions::default();
                options.bits = Some(bits);
                options.sample = Some(Sample::Half);
                let frame = frame((width, height), channels, alpha);
                let mut seed = |options: &WriteOptions| {
                    let frame = frame.as_ref().ok();
                    seeds.extend(frame.and_then(|f| encode(format, f, options).ok()));
                };
                seed(&options);
                if format == Format::Exr {
                    options.compression = Some(Compression::Htj2k);
                    seed(&options);
                }
            }
        }
    }
    seeds.dedup();
    match format {
        Format::Exr => {
            let mut dice = Dice::new(3);
            seeds.extend((0..40).map(|_| random_exr(&mut dice)));
        }
        Format::Png => {
            let mut dice = Dice::new(4);
            seeds.extend((0..20).map(|_| random_png(&mut dice)));
        }
        Format::Dng => {
            let mut dice = Dice::new(6);
            seeds.extend((0..20).map(|_| random_dng(&mut dice)));
        }
        Format::Tiff => {
            let mut dice = Dice::new(5);
            seeds.extend((0..20).map(|_| random_tiff(&mut dice)));
        }
        _ => {}
    }
    seeds
}

fn frame((width, height): (usize, usize), channels: usize, alpha: bool) -> limpid::Result<Frame> {
    let image = Image::from_fn(width, height, channels, |x, y, c| {
        ((x * 31 + y * 17 + c * 7) % 64) as f32 / 64.0
    });
    let mut frame = Frame::new(image)?;
    if alpha {
        frame.insert(Kind::Alpha, Image::new(width, height, 1))?;
    }
    Ok(frame)
}

/// An EXR file with random parts, channels, types, compression and blocks.
pub(crate) fn random_exr(dice: &mut Dice) -> Vec<u8> {
    let size = (1 + dice.roll(40), 1 + dice.roll(40));
    let count = size.0 * size.1;
    let names = [
        "R",
        "G",
        "B",
        "A",
        "Z",
        "Y",
        "a.R",
        "a.G",
        "a.B",
        "b.R",
        "b.G",
        "b.B",
        "variance.R",
        "albedo.R",
        "albedo.G",
        "albedo.B",
        "N.X",
        "N.Y",
        "N.Z",
        "view.light.key.R",
        "id.I",
    ];
    let parts = 1 + dice.roll(3);
    let layers: Vec<_> = (0..parts)
        .map(|i| {
            let mut list = vec![channel("R", count, dice)];
            for name in names.iter().skip(1) {
                if dice.roll(3) == 0 {
                    list.push(channel(name, count, dice));
                }
            }
            let compression = *dice.pick(&[
                Method::Uncompressed,
                Method::RLE,
                Method::ZIP1,
                Method::ZIP16,
                Method::PIZ,
                Method::PXR24,
                Method::B44,
                Method::B44A,
                Method::DWAA(None),
                Method::DWAB(Some(45.0)),
            ]);
            let blocks = match dice.roll(2) {
                0 => Blocks::ScanLines,
                _ => Blocks::Tiles(Vec2(1 + dice.roll(40), 1 + dice.roll(40))),
            };
            let encoding = Encoding {
                compression,
                blocks,
                line_order: LineOrder::Increasing,
            };
            let attributes = LayerAttributes {
                layer_name: (parts > 1).then(|| Text::from(["one", "two", "N"][i])),
                ..LayerAttributes::default()
            };
            Layer::new(size, attributes, encoding, AnyChannels::sort(list.into()))
        })
        .collect();
    let image = exr::prelude::Image::from_layers(ImageAttributes::with_size(size), layers);
    // What the writer refuses is an empty input; its B44 packer panics on some sizes, on this thread and not on one of its own.
    let written = std::panic::catch_unwind(move || {
        let mut file = Cursor::new(Vec::new());
        let _ = image.write().non_parallel().to_buffered(&mut file);
        file.into_inner()
    });
    written.unwrap_or_default()
}

fn channel(name: &str, count: usize, dice: &mut Dice) -> AnyChannel<FlatSamples> {
    let step = dice.roll(9);
    let values = (0..count).map(|i| (i * step % 61) as f32 / 8.0);
    let samples = match dice.roll(3) {
        0 => FlatSamples::F32(values.collect()),
        1 => FlatSamples::U32(values.map(|v| v as u32).collect()),
        _ => FlatSamples::F16(values.map(f16::from_f32).collect()),
    };
    AnyChannel::new(name, samples)
}

/// A PNG file of a random kind, with text and a palette.
pub(crate) fn random_png(dice: &mut Dice) -> Vec<u8> {
    use png::{BitDepth, ColorType, Encoder};
    let (width, height) = (1 + dice.roll(24), 1 + dice.roll(24));
    let (color, depths): (ColorType, &[BitDepth]) = *dice.pick(&[
        (
            ColorType::Grayscale,
            &[
                BitDepth::One,
                BitDepth::Two,
                BitDepth::Four,
                BitDepth::Eight,
                BitDepth::Sixteen,
            ][..],
        ),
        (ColorType::Rgb, &[BitDepth::Eight, BitDepth::Sixteen][..]),
        (
            ColorType::Indexed,
            &[
                BitDepth::One,
                BitDepth::Two,
                BitDepth::Four,
                BitDepth::Eight,
            ][..],
        ),
        (
            ColorType::GrayscaleAlpha,
            &[BitDepth::Eight, BitDepth::Sixteen][..],
        ),
        (ColorType::Rgba, &[BitDepth::Eight, BitDepth::Sixteen][..]),
    ]);
    let depth = *dice.pick(depths);
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == ColorType::Indexed {
        encoder.set_palette((0..768).map(|i| i as u8).collect::<Vec<u8>>());
        encoder.set_trns(vec![0, 128, 255]);
    }
    // Neither can fail with a short ASCII text.
    let _ = encoder.add_text_chunk("Comment".to_owned(), "grain".to_owned());
    let _ = encoder.add_ztxt_chunk("Author".to_owned(), "nobody ".repeat(20));
    let bits = width * color.samples() * (depth as usize);
    let rows: Vec<u8> = (0..bits.div_ceil(8) * height)
        .map(|_| dice.roll(256) as u8)
        .collect();
    if let Ok(mut writer) = encoder.write_header() {
        let _ = writer.write_image_data(&rows);
    }
    file
}

/// Makes the check sum of every whole chunk right.
pub(crate) fn repair_png(bytes: &mut [u8]) {
    let mut at = 8;
    while let Some(head) = bytes.get(at..at + 4) {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some(end) = at.checked_add(8).and_then(|b| b.checked_add(length)) else {
            return;
        };
        if end + 4 > bytes.len() {
            return;
        }
        let sum = crc(&bytes[at + 4..end]).to_be_bytes();
        bytes[end..end + 4].copy_from_slice(&sum);
        at = end + 4;
    }
}

/// The check sum of PNG.
fn crc(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
    }
    !sum
}

/// A TIFF file of a random kind and compression.
pub(crate) fn random_tiff(dice: &mut Dice) -> Vec<u8> {
    use tiff::encoder::{Compression, DeflateLevel, TiffEncoder, colortype};
    let (width, height) = (1 + dice.roll(24) as u32, 1 + dice.roll(24) as u32);
    let count = (width * height) as usize;
    let bytes: Vec<u8> = (0..count * 4).map(|_| dice.roll(256) as u8).collect();
    let words: Vec<u16> = bytes.iter().map(|b| u16::from(*b) * 257).collect();
    let floats: Vec<f32> = bytes.iter().map(|b| f32::from(*b) / 255.0).collect();
    let compression = *dice.pick(&[
        Compression::Uncompressed,
        Compression::Lzw,
        Compression::Deflate(DeflateLevel::Fast),
        Compression::Packbits,
    ]);
    let mut file = Cursor::new(Vec::new());
    if let Ok(encoder) = TiffEncoder::new(&mut file) {
        let mut encoder = encoder.with_compression(compression);
        // Arrays of the right length in memory: nothing to fail.
        let _ = match dice.roll(6) {
            0 => encoder.write_image::<colortype::Gray8>(width, height, &bytes[..count]),
            1 => encoder.write_image::<colortype::RGB8>(width, height, &bytes[..3 * count]),
            2 => encoder.write_image::<colortype::RGBA8>(width, height, &bytes),
            3 => encoder.write_image::<colortype::RGB16>(width, height, &words[..3 * count]),
            4 => encoder.write_image::<colortype::Gray32Float>(width, height, &floats[..count]),
            _ => encoder.write_image::<colortype::RGB32Float>(width, height, &floats[..3 * count]),
        };
    }
    file.into_inner()
}

/// Raw files of cameras of several makers.
pub(crate) fn cameras() -> Vec<Vec<u8>> {
    let mut dice = Dice::new(11);
    (0..24).map(|_| random_camera(&mut dice)).collect()
}

/// A raw file of a camera, as those that store samples of 16 bits write it: in the first directory, or inside it.
pub(crate) fn random_camera(dice: &mut Dice) -> Vec<u8> {
    let cameras = [
        ("NIKON CORPORATION\0", "NIKON D850\0"),
        ("SONY\0", "ILCE-7M3\0"),
        ("PENTAX\0", "PENTAX K-5 II\0"),
        ("SAMSUNG\0", "NX300\0"),
    ];
    let which = dice.roll(cameras.len());
    let (make, model) = cameras[which];
    let (width, height) = (16 * (1 + dice.roll(3)), 8 * (1 + dice.roll(5)));
    let mut out = b"II*\0\0\0\0\0".to_vec();
    out.extend((0..width * height).flat_map(|_| (dice.roll(1 << 14) as u16).to_le_bytes()));
    let longs =
        |values: &[u32]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
    let long = |v: usize| longs(&[v as u32]);
    let pattern = *dice.pick(&[[0, 1, 1, 2], [1, 0, 2, 1], [2, 1, 1, 0], [1, 2, 0, 1]]);
    let directory = |mut entries: Vec<(u16, u16, Vec<u8>)>, out: &mut Vec<u8>| {
        entries.sort_by_key(|e| e.0);
        let mut listed = (entries.len() as u16).to_le_bytes().to_vec();
        for (tag, kind, mut value) in entries {
            let count = value.len() / if kind == 4 { 4 } else { 1 };
            if value.len() > 4 {
                let place = longs(&[out.len() as u32]);
                out.extend(std::mem::replace(&mut value, place));
            }
            value.resize(4, 0);
            listed.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
            listed.extend(longs(&[count as u32]));
            listed.extend(value);
        }
        let at = out.len();
        out.extend(listed);
        out.extend([0; 4]);
        at
    };
    let picture = vec![
        (254, 4, long(0)),
        (256, 4, long(width)),
        (257, 4, long(height)),
        (258, 4, long(14)),
        (259, 4, long(1)),
        (262, 4, long(32803)),
        (273, 4, long(8)),
        (277, 4, long(1)),
        (278, 4, long(height)),
        (279, 4, long(2 * width * height)),
        (33422, 1, pattern.to_vec()),
    ];
    let mut first = vec![
        (271, 2, make.as_bytes().to_vec()),
        (272, 2, model.as_bytes().to_vec()),
        (274, 4, long(1 + dice.roll(8))),
        (315, 2, b"someone\0".to_vec()),
    ];
    // Pentax and Samsung have no directory inside.
    match which < 2 {
        true => {
            let at = directory(picture, &mut out);
            first.extend([(254, 4, long(1)), (330, 4, long(at))]);
        }
        false => first.extend(picture),
    }
    let at = directory(first, &mut out);
    out[4..8].copy_from_slice(&(at as u32).to_le_bytes());
    out
}

/// A DNG file of a mosaic: one directory, plain strips or tiles.
pub(crate) fn random_dng(dice: &mut Dice) -> Vec<u8> {
    let (width, height) = (4 + dice.roll(40), 4 + dice.roll(40));
    let bits = *dice.pick(&[8, 10, 12, 14, 16]);
    let tiled = dice.roll(2) == 0;
    let (wide, high) = if tiled {
        (16, 16)
    } else {
        (width, 1 + dice.roll(height))
    };
    let mut out = b"II*\0\0\0\0\0".to_vec();
    let (mut places, mut lengths) = (Vec::new(), Vec::new());
    for top in (0..height).step_by(high) {
        for _ in (0..width).step_by(wide) {
            let rows = if tiled { high } else { high.min(height - top) };
            let length = (wide * bits).div_ceil(8) * rows;
            places.push(out.len() as u32);
            lengths.push(length as u32);
            out.extend((0..length).map(|_| dice.roll(256) as u8));
        }
    }
    let [places_tag, lengths_tag] = if tiled { [324, 325] } else { [273, 279] };
    let pattern = *dice.pick(&[[0, 1, 1, 2], [1, 0, 2, 1], [2, 1, 1, 0], [1, 2, 0, 1]]);
    let longs =
        |values: &[u32]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
    let rationals =
        |values: &[u32]| -> Vec<u8> { values.iter().flat_map(|v| longs(&[*v, 1000])).collect() };
    let mut entries = vec![
        (256u16, 4u16, longs(&[width as u32])),
        (257, 4, longs(&[height as u32])),
        (258, 4, longs(&[bits as u32])),
        (259, 4, longs(&[1])),
        (262, 4, longs(&[32803])),
        (274, 4, longs(&[1 + dice.roll(8) as u32])),
        (278, 4, longs(&[high as u32])),
        (322, 4, longs(&[wide as u32])),
        (323, 4, longs(&[high as u32])),
        (places_tag, 4, longs(&places)),
        (lengths_tag, 4, longs(&lengths)),
        (33422, 1, pattern.to_vec()),
        (50706, 1, vec![1, 4, 0, 0]),
        (50714, 4, longs(&[dice.roll(64) as u32])),
        (50721, 5, rationals(&[700, 0, 0, 0, 1000, 0, 0, 0, 600])),
        (50728, 5, rationals(&[500, 1000, 600])),
    ];
    if dice.roll(2) == 0 {
        entries.push((50829, 4, longs(&[2, 2, height as u32, width as u32])));
    }
    entries.sort_by_key(|e| e.0);
    let mut listed = (entries.len() as u16).to_le_bytes().to_vec();
    for (tag, kind, mut value) in entries {
        let each = [1, 1, 1, 2, 4, 8][usize::from(kind)];
        let count = (value.len() / each) as u32;
        if value.len() > 4 {
            let place = out.len() as u32;
            out.extend(&value);
            value = longs(&[place]);
        }
        value.resize(4, 0);
        listed.extend(tag.to_le_bytes());
        listed.extend(kind.to_le_bytes());
        listed.extend(count.to_le_bytes());
        listed.extend(value);
    }
    let at = (out.len() as u32).to_le_bytes();
    out[4..8].copy_from_slice(&at);
    out.extend(listed);
    out.extend([0; 4]);
    out
}
