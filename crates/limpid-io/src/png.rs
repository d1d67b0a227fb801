//! PNG: 1 to 16 bit, grey, palette and colour, with alpha. Colour chunks, text and EXIF are preserved.

use super::codec::{self, Codec, Content, Holds, Passed};
use super::raster::{Raster, Transfer, byte, check_memory, check_size, quantise};
use super::{Bits, WriteOptions};
use limpid_core::{Error, Result, memory};
use std::io::Cursor;
use std::path::Path;

/// PNG in the table of formats.
pub(super) const CODEC: Codec = Codec {
    name: "PNG",
    extensions: &["png"],
    begins: |bytes| bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
    transfer: Transfer::Encoded,
    holds: Holds::Alpha,
    read: |bytes, path, options| Content::of(read(&bytes, path, options.limit)?),
    inspect: None,
    write: |page| {
        page.file(Transfer::Encoded, |raster, kept| {
            let mut options = page.options.clone();
            if kept.is_none() && page.is_deep() {
                options.bits.get_or_insert(Bits::Sixteen);
            }
            write(raster, (kept, page.passed()), &options, page.path)
        })
    },
};

/// The data of a PNG file that is preserved besides its pixels.
#[derive(Debug)]
struct PngExtras {
    /// Whole chunks (length, name, data, checksum) that do not depend on the pixels.
    chunks: Vec<Vec<u8>>,
    bits: Bits,
}

/// Bytes of the signature and the header.
const HEADER: usize = 33;

/// Bytes of the largest profile that is passed on to other formats.
const PROFILE: usize = 16 << 20;

/// Chunks that stay valid for other pixels of the same image.
const KEPT: [&[u8; 4]; 13] = [
    b"iCCP", b"sRGB", b"gAMA", b"cHRM", b"cICP", b"mDCV", b"cLLI", b"pHYs", b"eXIf", b"tEXt",
    b"zTXt", b"iTXt", b"tIME",
];

impl codec::Extras for PngExtras {
    fn transfer(&self) -> Transfer {
        Transfer::Encoded
    }

    fn sample(&self) -> &'static str {
        match self.bits {
            Bits::Eight => "8 bit",
            Bits::Sixteen => "16 bit",
        }
    }

    fn compression(&self) -> String {
        "deflate".to_owned()
    }

    /// The keywords of texts, the names of other chunks.
    fn names(&self) -> Vec<String> {
        let name = |chunk: &Vec<u8>| match keyword(chunk) {
            Some((key, _)) => latin(key),
            None => latin(&chunk[4..8]),
        };
        self.chunks.iter().map(name).collect()
    }

    /// A text that is not compressed.
    fn text(&self, name: &str) -> Option<String> {
        let plain = self.chunks.iter().filter(|c| &c[4..8] == b"tEXt");
        let mut texts = plain.filter_map(|chunk| keyword(chunk));
        texts.find_map(|(key, rest)| (latin(key) == name).then(|| latin(rest)))
    }

    fn is_deep(&self) -> bool {
        self.bits == Bits::Sixteen
    }

    /// Unpacked by the decoder, from a file of one pixel with this chunk.
    fn profile(&self) -> Option<Vec<u8>> {
        let chunk = self.chunks.iter().find(|c| &c[4..8] == b"iCCP")?;
        let mut file = Vec::new();
        let mut writer = png::Encoder::new(&mut file, 1, 1).write_header().ok()?;
        writer.write_image_data(&[0]).ok()?;
        writer.finish().ok()?;
        let tail = file.split_off(HEADER);
        file.extend(chunk);
        file.extend(tail);
        let limits = png::Limits { bytes: PROFILE };
        let decoder = png::Decoder::new_with_limits(Cursor::new(file), limits);
        let reader = decoder.read_info().ok()?;
        reader.info().icc_profile.as_ref().map(|p| p.to_vec())
    }

    fn exif(&self) -> Option<&[u8]> {
        let chunk = self.chunks.iter().find(|c| &c[4..8] == b"eXIf")?;
        chunk.get(8..chunk.len() - 4)
    }
}

/// The keyword of a chunk of text, and what follows it.
fn keyword(chunk: &[u8]) -> Option<(&[u8], &[u8])> {
    if ![b"tEXt", b"zTXt", b"iTXt"].contains(&chunk[4..8].first_chunk()?) {
        return None;
    }
    let data = chunk.get(8..chunk.len() - 4)?;
    let end = data.iter().position(|b| *b == 0)?;
    Some((&data[..end], &data[end + 1..]))
}

/// Latin-1, in which PNG stores text.
fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|b| char::from(*b)).collect()
}

/// Width and height from the header.
fn declared(bytes: &[u8], path: &Path) -> Result<(u64, u64)> {
    let Some(&[w0, w1, w2, w3, h0, h1, h2, h3]) = bytes.get(16..24) else {
        return Err(Error::damaged(format!(
            "{}: the PNG file is truncated",
            path.display()
        )));
    };
    let int = |b: [u8; 4]| u64::from(u32::from_be_bytes(b));
    Ok((int([w0, w1, w2, w3]), int([h0, h1, h2, h3])))
}

fn read(
    bytes: &[u8],
    path: &Path,
    limit: u64,
) -> Result<(Raster<'static>, PngExtras, Vec<String>)> {
    let damaged = |e: png::DecodingError| match e {
        png::DecodingError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            Error::damaged(format!("{}: the PNG file is truncated", path.display()))
        }
        e => Error::damaged(format!("{}: corrupt PNG file: {e}", path.display())),
    };
    let (width, height) = declared(bytes, path)?;
    let size = check_size((width, height, 4), limit, path)?;
    // Deflate compresses at most 1032:1.
    if size.pixels() / 8 / 2048 > bytes.len() {
        return Err(Error::damaged(format!(
            "{}: corrupt PNG file: {} bytes cannot hold {size} pixels",
            path.display(),
            bytes.len()
        )));
    }
    check_memory(size, 4)?;
    let mut decoder = png::Decoder::new_with_limits(
        Cursor::new(bytes),
        png::Limits {
            bytes: usize::try_from(limit).unwrap_or(usize::MAX),
        },
    );
    decoder.set_transformations(png::Transformations::EXPAND);
    // Preserved without decoding: a few bytes may decompress to gigabytes.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(damaged)?;
    let mut notes = Vec::new();
    if reader.info().animation_control.is_some() {
        notes.push("only the first frame of the animation is read".to_owned());
    }
    let length = reader.output_buffer_size().ok_or_else(|| {
        Error::too_large(format!("{}: {size} pixels are too many", path.display()))
    })?;
    let mut buffer = memory::zeroed::<u8>(length)?;
    let info = reader.next_frame(&mut buffer).map_err(damaged)?;
    let buffer = &buffer[..info.buffer_size()];
    let channels = info.color_type.samples();
    let (raster, bits) = match info.bit_depth {
        png::BitDepth::Sixteen => {
            let (pairs, _) = buffer.as_chunks::<2>();
            let value = |p: [u8; 2]| f32::from(u16::from_be_bytes(p)) / 65535.0;
            let raster = Raster::from_samples(size, channels, pairs, value)?;
            (raster, Bits::Sixteen)
        }
        _ => (Raster::from_bytes(size, channels, buffer)?, Bits::Eight),
    };
    let kept = PngExtras {
        chunks: chunks(bytes),
        bits,
    };
    Ok((raster, kept, notes))
}

/// The chunks that are kept.
fn chunks(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    let mut rest = bytes.get(8..).unwrap_or_default();
    while let Some(&[a, b, c, d, ref name @ ..]) = rest.get(..8) {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let Some(chunk) = length.checked_add(12).and_then(|l| rest.get(..l)) else {
            break;
        };
        if KEPT.iter().any(|k| k[..] == *name) {
            chunks.push(chunk.to_vec());
        }
        rest = &rest[chunk.len()..];
    }
    chunks
}

fn write(
    raster: &Raster<'_>,
    (kept, passed): (Option<&PngExtras>, Passed),
    options: &WriteOptions,
    path: &Path,
) -> Result<Vec<u8>> {
    let size = raster.size();
    let side = |v: usize| {
        u32::try_from(v).map_err(|_| {
            Error::unsupported(format!("{}: {size} is too large for PNG", path.display()))
        })
    };
    let bits = options.bits.or(kept.map(|k| k.bits)).unwrap_or(Bits::Eight);
    let (channels, data) = match bits {
        Bits::Eight => raster.samples(byte)?,
        Bits::Sixteen => {
            let (channels, pairs) =
                raster.samples(|v| (quantise(v, 65535.0) as u16).to_be_bytes())?;
            (channels, pairs.into_flattened())
        }
    };
    let mut file = Vec::new();
    let mut info = png::Info::with_size(side(size.width)?, side(size.height)?);
    if kept.is_none() {
        match passed.profile {
            Some(profile) => info.icc_profile = Some(profile.into()),
            None => info.srgb = Some(png::SrgbRenderingIntent::Perceptual),
        }
        info.exif_metadata = passed.exif.map(Into::into);
    }
    let failed = |e: png::EncodingError| {
        Error::unsupported(format!("{}: cannot be written as PNG: {e}", path.display()))
    };
    let mut encoder = png::Encoder::with_info(&mut file, info).map_err(failed)?;
    encoder.set_color(match channels {
        1 => png::ColorType::Grayscale,
        2 => png::ColorType::GrayscaleAlpha,
        3 => png::ColorType::Rgb,
        _ => png::ColorType::Rgba,
    });
    encoder.set_depth(match bits {
        Bits::Eight => png::BitDepth::Eight,
        Bits::Sixteen => png::BitDepth::Sixteen,
    });
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&data).map_err(failed)?;
    writer.finish().map_err(failed)?;
    if let Some(kept) = kept {
        let tail = file.split_off(HEADER);
        file.extend(kept.chunks.iter().flatten());
        file.extend(tail);
    }
    Ok(file)
}
