//! Small files that decompress to large images, images of unusual shape, and files with very many parts: memory is bounded by
//! the limit, and files beyond it are rejected before pixels are read.

use crate::{alone, peak};
use exr::prelude::{
    AnyChannel, AnyChannels, Blocks, Compression, Encoding, FlatSamples, Image as ExrImage,
    ImageAttributes, Layer as ExrLayer, LayerAttributes, LineOrder, Text, WritableImage, f16,
};
use limpid::io::{self, Format, ReadOptions, WriteOptions};
use limpid::{Frame, Image, Size};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Reads a file from memory: returns the result, the peak memory, and the time.
fn measured(format: Format, bytes: &[u8], limit: u64) -> (Result<Size, String>, usize, Duration) {
    let mut options = ReadOptions::default();
    options.need_color = false;
    options.limit = limit;
    let begin = Instant::now();
    let (read, most) = peak(|| {
        let read = io::read_bytes(bytes, format, Path::new("bomb"), &options);
        read.map(|p| p.frame.size()).map_err(|e| e.to_string())
    });
    (read, most, begin.elapsed())
}

/// A file whose pixels exceed the limit is rejected immediately, without allocating them; within a sufficient limit it is read.
fn bounded(name: &str, format: Format, bytes: &[u8], size: Size) {
    let pixels = size.pixels() as u64;
    let (refused, most, time) = measured(format, bytes, pixels);
    assert!(
        refused.as_ref().is_err_and(|e| e.contains("limit")),
        "{name}: {refused:?}"
    );
    assert!(most < 1 << 20, "{name}: {most} bytes for a refusal");
    assert!(
        time < Duration::from_secs(1),
        "{name}: {time:?} for a refusal"
    );
    let limit = 64 * pixels;
    let (read, most, time) = measured(format, bytes, limit);
    assert_eq!(read, Ok(size), "{name}");
    assert!(
        most as u64 <= limit + (4 << 20),
        "{name}: {most} bytes, {limit} allowed"
    );
    assert!(time < Duration::from_secs(20), "{name}: {time:?}");
}

/// A part of black pixels with the three channels of colour.
fn part(
    name: &str,
    size: (usize, usize),
    compression: Compression,
) -> ExrLayer<AnyChannels<FlatSamples>> {
    let black = |name| {
        let samples = FlatSamples::F16(vec![f16::ZERO; size.0 * size.1]);
        AnyChannel::new(name, samples)
    };
    let channels = ["R", "G", "B"].map(black).into_iter().collect();
    let attributes = LayerAttributes::named(Text::from(name));
    let encoding = Encoding {
        compression,
        blocks: Blocks::ScanLines,
        line_order: LineOrder::Increasing,
    };
    ExrLayer::new(size, attributes, encoding, AnyChannels::sort(channels))
}

fn exr(size: (usize, usize), parts: Vec<ExrLayer<AnyChannels<FlatSamples>>>) -> Vec<u8> {
    let image = ExrImage::from_layers(ImageAttributes::with_size(size), parts);
    let mut file = std::io::Cursor::new(Vec::new());
    image.write().to_buffered(&mut file).unwrap();
    file.into_inner()
}

/// A black image, compressed as far as the format can.
fn packed(format: Format, (width, height): (usize, usize)) -> Vec<u8> {
    let frame = Frame::new(Image::new(width, height, 3)).unwrap();
    io::encode(format, &frame, &WriteOptions::default()).unwrap()
}

#[test]
fn what_unpacks_a_thousandfold_is_bounded() {
    let _alone = alone();
    let size = (2048, 1024);
    let expected = Size::new(size.0, size.1);
    for format in [Format::Exr, Format::Png, Format::Tiff, Format::Webp] {
        let bytes = packed(format, size);
        let ratio = 12 * expected.pixels() / bytes.len();
        assert!(ratio > 50, "{format}: only {ratio}");
        bounded(&format.to_string(), format, &bytes, expected);
    }
    for method in [
        Compression::RLE,
        Compression::PIZ,
        Compression::ZIP1,
        Compression::B44A,
    ] {
        let bytes = exr(size, vec![part("one", size, method)]);
        bounded(&method.to_string(), Format::Exr, &bytes, expected);
    }
}

/// Text and profiles of PNG files that decompress to gigabytes are not decompressed.
#[test]
fn packed_texts_are_bounded() {
    let _alone = alone();
    let mut zeros = png_zeros(256 << 20);
    let bytes = packed(Format::Png, (4, 4));
    for name in [b"zTXt", b"iCCP"] {
        let mut data = b"name\0\0".to_vec();
        data.append(&mut zeros.clone());
        let mut file = bytes[..33].to_vec();
        file.write_all(&(data.len() as u32).to_be_bytes()).unwrap();
        let mut chunk = name.to_vec();
        chunk.append(&mut data);
        file.write_all(&chunk).unwrap();
        file.write_all(&crc(&chunk).to_be_bytes()).unwrap();
        file.extend(&bytes[33..]);
        let (read, most, _) = measured(Format::Png, &file, 32 << 30);
        assert!(most < 96 << 20, "{read:?}: {most} bytes");
    }
    zeros.clear();
}

/// A zlib stream of zeros, taken from the pixels of a PNG file.
fn png_zeros(length: usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, (length / 4096) as u32, 4096);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&vec![0; length]).unwrap();
    drop(writer);
    let mut stream = Vec::new();
    let mut rest = &file[8..];
    while rest.len() >= 12 {
        let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        if &rest[4..8] == b"IDAT" {
            stream.extend(&rest[8..8 + length]);
        }
        rest = &rest[12 + length..];
    }
    stream
}

/// The checksum of PNG.
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

/// The longest rows and columns that formats support.
#[test]
fn long_rows_and_columns_come_back() {
    let _alone = alone();
    for format in Format::ALL.iter().copied() {
        let longest = match format {
            Format::Webp => 16_383,
            _ => 65_535,
        };
        for (width, height) in [(longest, 1), (1, longest)] {
            let image = Image::from_fn(width, height, 3, |x, y, c| {
                ((x + y + c) % 200) as f32 / 255.0
            });
            let frame = Frame::new(image).unwrap();
            let mut options = WriteOptions::default();
            options.transfer = Some(format.transfer());
            let bytes = match io::encode(format, &frame, &options) {
                Ok(bytes) => bytes,
                // The limit of JPEG is slightly lower.
                Err(error) => {
                    assert!(error.to_string().contains("too large"), "{format}: {error}");
                    continue;
                }
            };
            let (read, most, _) = measured(format, &bytes, 64 << 20);
            assert_eq!(read, Ok(Size::new(width, height)), "{format}");
            assert!(most < 32 << 20, "{format}: {most} bytes");
        }
    }
}

/// Very many parts are read, or rejected if they do not fit; the time is not quadratic.
#[test]
fn many_parts_are_read_in_time() {
    let _alone = alone();
    let one = |i: usize| part(&format!("part{i}"), (2, 2), Compression::ZIP16);
    let bytes = exr((2, 2), (0..3000).map(one).collect());
    let (read, most, time) = measured(Format::Exr, &bytes, 1 << 20);
    assert_eq!(read, Ok(Size::new(2, 2)));
    assert!(most < 64 << 20, "{most} bytes");
    assert!(time < Duration::from_secs(10), "{time:?}");
    let (refused, ..) = measured(Format::Exr, &bytes, 1 << 10);
    assert!(refused.is_err_and(|e| e.contains("limit")));
}

/// A long, sparse file is not read completely, and one of unknown format not at all.
#[cfg(unix)]
#[test]
fn long_files_are_not_read_beyond_the_limit() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let long = |name: &str, head: &[u8]| {
        let path = folder.path().join(name);
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(head).unwrap();
        // A sparse file, which takes no disk space.
        file.set_len(1 << 40).unwrap();
        path
    };
    let png = long("long.png", &packed(Format::Png, (4, 4)));
    let zero = long("zero.exr", &[]);
    for path in [png, zero, "/dev/zero".into()] {
        let (read, most) = peak(|| io::read(&path, &ReadOptions::default()).map(drop));
        let error = read.unwrap_err().to_string();
        assert!(
            error.contains("limit") || error.contains("format") || error.contains("content"),
            "{error}"
        );
        assert!(most < 1 << 20, "{most} bytes");
    }
}
