//! JPEG: 8 bit, grey or colour. Profile, EXIF and other application segments are preserved, and quality and chroma
//! subsampling are those of the source.

mod decode;

use super::WriteOptions;
use super::codec::{self, Codec, Content, Holds, Passed};
use super::exif::turned;
use super::raster::{Raster, Transfer, byte, check_longest, check_memory, check_size, interleaved};
use decode::{Fault, decoded, plain};
use jpeg_encoder::{
    Encoder, EncodingError, ImageBuffer, JpegColorType, SamplingFactor, rgb_to_ycbcr,
};
use limpid_core::{Error, Result, Size};
use rayon::prelude::*;
use std::path::Path;

/// JPEG in the table of formats.
pub(super) const CODEC: Codec = Codec {
    name: "JPEG",
    extensions: &["jpg", "jpeg", "jpe"],
    begins: |bytes| bytes.starts_with(&[0xff, 0xd8, 0xff]),
    transfer: Transfer::Encoded,
    holds: Holds::Color,
    read: |bytes, path, options| Content::of(read(&bytes, path, options.limit)?),
    inspect: None,
    write: |page| {
        page.file(Transfer::Encoded, |raster, kept: Option<&JpegExtras>| {
            let passed;
            let segments = match kept {
                Some(kept) => &kept.segments,
                None => {
                    passed = segments(page.passed());
                    &passed
                }
            };
            write(raster, (kept, segments), page.options, page.path)
        })
    },
};

/// The data of a JPEG file that is preserved besides its pixels.
#[derive(Debug)]
struct JpegExtras {
    /// Whole segments: marker, length and data.
    segments: Vec<Vec<u8>>,
    quality: u8,
    sampling: (u8, u8),
}

impl codec::Extras for JpegExtras {
    fn transfer(&self) -> Transfer {
        Transfer::Encoded
    }

    fn sample(&self) -> &'static str {
        "8 bit"
    }

    fn compression(&self) -> String {
        let sampling = match self.sampling {
            (2, 2) => ", 4:2:0",
            (2, 1) => ", 4:2:2",
            (1, 2) => ", 4:4:0",
            _ => "",
        };
        format!("quality {}{sampling}", self.quality)
    }

    /// The names of the segments.
    fn names(&self) -> Vec<String> {
        let name = |s: &Vec<u8>| {
            let data = &s[4..];
            match s[1] {
                0xfe => "comment".to_owned(),
                0xe1 if data.starts_with(b"Exif") => "EXIF".to_owned(),
                0xe1 if data.starts_with(b"http://ns.adobe") => "XMP".to_owned(),
                0xe2 if data.starts_with(b"ICC_PROFILE") => "ICC profile".to_owned(),
                marker => format!("APP{}", marker - 0xe0),
            }
        };
        self.segments.iter().map(name).collect()
    }

    fn exif(&self) -> Option<&[u8]> {
        let mut data = self.segments.iter().map(|s| &s[4..]);
        data.find(|data| data.starts_with(b"Exif\0\0"))
    }

    /// The parts of the profile, joined in their order.
    fn profile(&self) -> Option<Vec<u8>> {
        let data = self.segments.iter().filter(|s| s[1] == 0xe2);
        let parts = data.filter_map(|s| s[4..].strip_prefix(b"ICC_PROFILE\0")?.split_first_chunk());
        let mut parts: Vec<(&[u8; 2], &[u8])> = parts.collect();
        parts.sort_by_key(|(count, _)| count[0]);
        let joined = parts.iter().flat_map(|(_, part)| part.iter().copied());
        (!parts.is_empty()).then(|| joined.collect())
    }
}

/// The bytes that a segment holds besides its marker and length.
const SEGMENT: usize = 65_533;

/// Segments for what a file of another format brings along. EXIF data that does not fit one segment is cut down to the orientation.
fn segments(passed: Passed) -> Vec<Vec<u8>> {
    let segment = |marker: u8, parts: &[&[u8]]| {
        let data = parts.concat();
        let mut segment = vec![0xff, marker];
        segment.extend(((data.len() + 2) as u16).to_be_bytes());
        segment.extend(data);
        segment
    };
    let mut segments = Vec::new();
    if let Some(exif) = passed.exif {
        let head = b"Exif\0\0".as_slice();
        let fits = head.len() + exif.len() <= SEGMENT;
        let exif = if fits {
            exif
        } else {
            turned(passed.orientation)
        };
        segments.push(segment(0xe1, &[head, &exif]));
    }
    let profile = passed.profile.unwrap_or_default();
    let head = b"ICC_PROFILE\0".as_slice();
    let parts = profile.chunks(SEGMENT - head.len() - 2);
    // The parts are counted in bytes.
    if let Ok(count) = u8::try_from(parts.len()) {
        let numbered = (1..=count).zip(parts);
        segments.extend(numbered.map(|(i, part)| segment(0xe2, &[head, &[i, count], part])));
    }
    segments
}

/// The contents of the segments before the pixels.
struct Structure {
    size: (u64, u64),
    components: u8,
    segments: Vec<Vec<u8>>,
    quality: Option<u8>,
    /// Samples of luma for one of chroma, across and down.
    sampling: (u8, u8),
}

/// The luminance table of the standard (Annex K), in zigzag order as files store it.
const LUMINANCE: [u16; 64] = [
    16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40, 26, 24, 22, 22, 24, 49, 35, 37,
    29, 40, 58, 51, 61, 60, 57, 51, 56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56, 80, 109, 81,
    87, 95, 98, 103, 104, 103, 62, 77, 113, 121, 112, 100, 120, 92, 101, 103, 99,
];

fn read(
    bytes: &[u8],
    path: &Path,
    limit: u64,
) -> Result<(Raster<'static>, JpegExtras, Vec<String>)> {
    let damaged =
        |what: String| Error::damaged(format!("{}: corrupt JPEG file: {what}", path.display()));
    let structure =
        structure(bytes).ok_or_else(|| damaged("the file ends before its pixels".to_owned()))?;
    let (width, height) = structure.size;
    let size = check_size((width, height, 3), limit, path)?;
    // Every block of 64 pixels takes at least one bit.
    if size.pixels() / 1024 > bytes.len() {
        return Err(damaged(format!(
            "{} bytes cannot hold {size} pixels",
            bytes.len()
        )));
    }
    if !bytes.windows(2).rev().any(|w| w == [0xff, 0xd9]) {
        return Err(Error::damaged(format!(
            "{}: the JPEG file is truncated",
            path.display()
        )));
    }
    check_memory(size, 3)?;
    let mut notes = Vec::new();
    let strict = decoded((bytes, size), true);
    let (channels, buffer) = match strict {
        Ok(found) => found,
        // What is left of a picture is worth having.
        Err(Fault::Decoder(strict)) => {
            let found = decoded((bytes, size), false).map_err(|e| e.about(&damaged, path))?;
            notes.push(match plain(&strict) {
                text if text.contains("Extra bytes between headers") => {
                    "stray bytes between the headers are skipped".to_owned()
                }
                text => format!("part of the picture may be wrong: {text}"),
            });
            found
        }
        Err(other) => return Err(other.about(&damaged, path)),
    };
    let raster = Raster::from_bytes(size, channels, &buffer)?;
    let mut segments = structure.segments;
    if structure.components == 4 {
        notes.push("CMYK is converted to RGB; its colour profile is not preserved".to_owned());
        segments.retain(|s| !s[4..].starts_with(b"ICC_PROFILE"));
    }
    let kept = JpegExtras {
        segments,
        quality: structure.quality.unwrap_or(95),
        sampling: structure.sampling,
    };
    Ok((raster, kept, notes))
}

/// Walks the segments up to the pixels.
fn structure(bytes: &[u8]) -> Option<Structure> {
    let mut at = 2;
    let mut structure = Structure {
        size: (0, 0),
        components: 0,
        segments: Vec::new(),
        quality: None,
        sampling: (1, 1),
    };
    loop {
        // Stray bytes before a marker are skipped, as libjpeg does.
        while *bytes.get(at)? != 0xff || matches!(*bytes.get(at + 1)?, 0 | 0xff) {
            at += 1;
        }
        let [0xff, marker, high, low] = *bytes.get(at..at + 4)? else {
            return None;
        };
        let length = usize::from(high) << 8 | usize::from(low);
        let segment = bytes.get(at..at.checked_add(2 + length.max(2))?)?;
        match marker {
            0xda => return (structure.size != (0, 0)).then_some(structure),
            // Frame headers: C0 … CF except DHT, JPG and DAC.
            0xc0..=0xcf if ![0xc4, 0xc8, 0xcc].contains(&marker) => {
                let &[_, y1, y2, x1, x2, components, ..] = segment.get(4..)? else {
                    return None;
                };
                let int = |a: u8, b: u8| u64::from(a) << 8 | u64::from(b);
                structure.size = (int(x1, x2), int(y1, y2));
                structure.components = components;
                // Three components of three bytes; the second has the factors.
                if let (3, Some(&[_, first, _, _, second, _, _, third, _])) =
                    (components, segment.get(10..19))
                    && second == third
                    && second == 0x11
                {
                    structure.sampling = (first >> 4, first & 0x0f);
                }
            }
            0xdb => structure.quality = structure.quality.or(quality(&segment[4..])),
            // Application data and comments. APP14 specifies the colour transform, which the writer sets itself.
            0xe0..=0xed | 0xef | 0xfe => structure.segments.push(segment.to_vec()),
            _ => {}
        }
        at += segment.len();
    }
}

/// The quality whose luminance table is closest to the one in a file.
fn quality(tables: &[u8]) -> Option<u8> {
    let (&kind, table) = tables.split_first()?;
    if kind & 0x0f != 0 {
        return None;
    }
    let values: Vec<u16> = if kind >> 4 == 0 {
        table.get(..64)?.iter().map(|v| u16::from(*v)).collect()
    } else {
        let (pairs, _) = table.get(..128)?.as_chunks::<2>();
        pairs.iter().map(|p| u16::from_be_bytes(*p)).collect()
    };
    (1..=100_u8).min_by_key(|q| -> u32 {
        let scaled = LUMINANCE.map(|v| scale(v, *q));
        scaled
            .iter()
            .zip(&values)
            .map(|(a, b)| u32::from(a.abs_diff(*b)))
            .sum()
    })
}

/// An entry of a table for a quality, scaled as in the reference software.
fn scale(value: u16, quality: u8) -> u16 {
    let quality = u32::from(quality);
    let percent = if quality < 50 {
        5000 / quality
    } else {
        200 - 2 * quality
    };
    ((u32::from(value) * percent + 50) / 100).clamp(1, 255) as u16
}

/// Alpha is dropped, because the format has none.
fn write(
    raster: &Raster<'_>,
    (kept, segments): (Option<&JpegExtras>, &[Vec<u8>]),
    options: &WriteOptions,
    path: &Path,
) -> Result<Vec<u8>> {
    let size = raster.size();
    check_longest(size, 65_535, "JPEG", path)?;
    let planes: Vec<&[f32]> = raster.color.planes().collect();
    let data = interleaved(&planes, byte)?;
    let quality = options.quality.or(kept.map(|k| k.quality)).unwrap_or(95);
    let sampling = kept.map_or((1, 1), |k| k.sampling);
    let form = (raster.color.channels(), quality, sampling);
    let mut file = encode(&data, size, form).map_err(|e| {
        let path = path.display();
        Error::unsupported(format!("{path}: cannot be written as JPEG: {e}"))
    })?;
    if !segments.is_empty() {
        // They replace the encoder's own JFIF header.
        let own = match file.get(2..6) {
            Some(&[0xff, 0xe0, high, low]) => 4 + (usize::from(high) << 8 | usize::from(low)),
            _ => 2,
        };
        let tail = file.split_off(own);
        file.truncate(2);
        file.extend(segments.iter().flatten());
        file.extend(tail);
    }
    Ok(file)
}

/// Rows of a strip of a large image: a multiple of the rows of a block, eight or sixteen.
const STRIP: usize = 64;

/// Grey or colour of 8 bits. Strips are encoded in parallel, with restart markers between them.
fn encode(
    data: &[u8],
    size: Size,
    (channels, quality, sampling): (usize, u8, (u8, u8)),
) -> std::result::Result<Vec<u8>, EncodingError> {
    let row = size.width * channels;
    let (factor, (across, down)) = match sampling {
        (2, 2) if channels == 3 => (SamplingFactor::F_2_2, (16, 16)),
        (2, 1) if channels == 3 => (SamplingFactor::F_2_1, (16, 8)),
        (1, 2) if channels == 3 => (SamplingFactor::F_1_2, (8, 16)),
        _ => (SamplingFactor::F_1_1, (8, 8)),
    };
    let interval = u16::try_from(size.width.div_ceil(across) * STRIP / down).ok();
    let interval = interval.filter(|_| size.height > STRIP);
    let rows = if interval.is_some() {
        STRIP
    } else {
        size.height
    };
    let strip = |data: &[u8]| {
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, quality.clamp(1, 100));
        encoder.set_sampling_factor(factor);
        encoder.set_restart_interval(interval.unwrap_or_default());
        encoder.encode_image(Pixels {
            data,
            size: Size::new(size.width, data.len() / row),
            channels,
        })?;
        Ok(file)
    };
    let strips = data.par_chunks(rows * row).map(strip);
    let strips: Vec<Vec<u8>> = strips.collect::<std::result::Result<_, EncodingError>>()?;
    Ok(match &strips[..] {
        [_, _, ..] => joined(&strips, size.height),
        _ => strips.into_iter().next().unwrap_or_default(),
    })
}

/// Merges the files of the strips of an image of this height into one.
fn joined(strips: &[Vec<u8>], height: usize) -> Vec<u8> {
    let mut file = Vec::with_capacity(strips.iter().map(Vec::len).sum());
    for (i, strip) in strips.iter().enumerate() {
        let (frame, scan) = frame_and_scan(strip);
        if i == 0 {
            file.extend(&strip[..scan]);
            // Length and sample depth of the frame header come before the height.
            file[frame + 5..frame + 7].copy_from_slice(&(height as u16).to_be_bytes());
        } else {
            file.extend([0xff, 0xd0 + (i - 1) as u8 % 8]);
        }
        file.extend(&strip[scan..strip.len() - 2]);
    }
    file.extend([0xff, 0xd9]);
    file
}

/// The positions of the frame header and the entropy-coded data in a file from the encoder.
fn frame_and_scan(file: &[u8]) -> (usize, usize) {
    let (mut at, mut frame) = (2, 0);
    loop {
        let length = usize::from(file[at + 2]) << 8 | usize::from(file[at + 3]);
        match file[at + 1] {
            0xc0 => frame = at,
            0xda => return (frame, at + 2 + length),
            _ => {}
        }
        at += 2 + length;
    }
}

/// Interleaved pixels, grey or colour. The encoder is generic: with a separate type for each kind of pixels it would be
/// compiled nine times.
struct Pixels<'a> {
    data: &'a [u8],
    size: Size,
    channels: usize,
}

impl ImageBuffer for Pixels<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        match self.channels {
            1 => JpegColorType::Luma,
            _ => JpegColorType::Ycbcr,
        }
    }

    fn width(&self) -> u16 {
        self.size.width as u16
    }

    fn height(&self) -> u16 {
        self.size.height as u16
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let row = self.size.width * self.channels;
        let row = &self.data[usize::from(y) * row..][..row];
        if self.channels == 1 {
            buffers[0].extend_from_slice(row);
            return;
        }
        let [luma, blue, red, _] = buffers;
        for pixel in row.chunks_exact(3) {
            let (y, cb, cr) = rgb_to_ycbcr(pixel[0], pixel[1], pixel[2]);
            luma.push(y);
            blue.push(cb);
            red.push(cr);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_are_one_image() {
        let plain = (1, 1);
        for (channels, height, sampling) in [
            (1, 64, plain),
            (1, 65, plain),
            (3, 700, plain),
            (3, 700, (2, 2)),
            (3, 200, (2, 1)),
            (3, 130, (1, 2)),
        ] {
            let size = Size::new(90, height);
            let count = size.pixels() * channels;
            let grey = |i: usize| (i / 900 + i % 900 / 90) as u8;
            let data: Vec<u8> = (0..count).map(|i| grey(i / channels)).collect();
            let file = encode(&data, size, (channels, 95, sampling)).unwrap();
            assert_eq!(structure(&file).unwrap().sampling, sampling);
            let markers = |b: u8| file.windows(2).filter(|w| **w == [0xff, b]).count();
            let restarts: usize = (0xd0..=0xd7).map(markers).sum();
            assert_eq!(restarts, (height - 1) / STRIP);
            let (raster, ..) = read(&file, Path::new("strips.jpg"), 1 << 30).unwrap();
            assert_eq!(raster.size(), size);
            let (_, back) = raster.samples(byte).unwrap();
            let off = back.iter().zip(&data).map(|(a, b)| a.abs_diff(*b));
            assert!(
                off.max().unwrap() < 24,
                "{channels} channels, {height} rows"
            );
        }
    }

    #[test]
    fn the_quality_is_found_again() {
        for q in [10_u8, 50, 75, 90, 95, 100] {
            let file = encode(&[127; 64], Size::new(8, 8), (1, q, (1, 1))).unwrap();
            assert_eq!(structure(&file).unwrap().quality, Some(q));
        }
    }
}
