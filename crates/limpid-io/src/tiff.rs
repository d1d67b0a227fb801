//! TIFF: 8 and 16 bit and float, grey and colour, with alpha, in strips or tiles, interleaved or planar. Profile, text and
//! resolution tags are preserved.

use super::codec::{self, Codec, Content, Holds};
use super::raster::{Raster, Transfer, byte, check_memory, check_size, quantise};
use super::{Bits, WriteOptions};
use ::tiff::decoder::{BufferLayoutPreference, Decoder, DecodingResult, Limits};
use ::tiff::encoder::colortype::{
    ColorType as Encoded, Gray8, Gray16, Gray32Float, RGB8, RGB16, RGB32Float,
};
use ::tiff::encoder::{Compression, DeflateLevel, TiffEncoder, TiffValue};
use ::tiff::tags::{ExtraSamples, Tag, Type, ValueBuffer};
use ::tiff::{ColorType, TiffError};
use limpid_core::{Error, Image, Result, memory};
use std::borrow::Cow;
use std::io::Cursor;
use std::path::Path;

/// TIFF in the table of formats.
pub(super) const CODEC: Codec = Codec {
    name: "TIFF",
    extensions: &["tif", "tiff"],
    begins: |bytes| {
        let magic: [&[u8]; 4] = [b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"];
        magic.iter().any(|m| bytes.starts_with(m))
    },
    transfer: Transfer::Linear,
    holds: Holds::Alpha,
    read: |bytes, path, options| Content::of(read(&bytes, path, options.limit)?),
    inspect: None,
    write: |page| {
        let kept = page.kept();
        let mut options = page.options.clone();
        // A photograph stays encoded.
        if kept.is_none() && page.transfer() == Transfer::Encoded {
            options.bits.get_or_insert(Bits::Sixteen);
        }
        let raster = page.raster(sample(kept, &options).transfer())?;
        Ok((write(&raster, kept, &options, page.path)?, Vec::new()))
    },
};

/// The data of a TIFF file that is preserved besides its pixels.
struct Kept {
    tags: Vec<(Tag, ValueBuffer)>,
    sample: Sample,
    compression: Compression,
    /// Whether colour is premultiplied by alpha.
    associated: bool,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept")
            .field("tags", &codec::Kept::names(self))
            .field("sample", &self.sample)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sample {
    Eight,
    Sixteen,
    Float,
}

impl Sample {
    fn name(self) -> &'static str {
        match self {
            Self::Eight => "8 bit",
            Self::Sixteen => "16 bit",
            Self::Float => "float",
        }
    }

    fn transfer(self) -> Transfer {
        match self {
            Self::Float => Transfer::Linear,
            _ => Transfer::Encoded,
        }
    }
}

impl codec::Kept for Kept {
    fn transfer(&self) -> Transfer {
        self.sample.transfer()
    }

    fn sample(&self) -> &'static str {
        self.sample.name()
    }

    fn compression(&self) -> String {
        match self.compression {
            Compression::Uncompressed => "uncompressed",
            Compression::Lzw => "LZW",
            Compression::Deflate(_) => "deflate",
            Compression::Packbits => "packbits",
        }
        .to_owned()
    }

    /// The names of the tags.
    fn names(&self) -> Vec<String> {
        let name = |tag: &Tag| match tag.to_u16() {
            700 => "XMP".to_owned(),
            33723 => "IPTC".to_owned(),
            34675 => "ICC profile".to_owned(),
            _ => format!("{tag:?}"),
        };
        self.tags.iter().map(|(tag, _)| name(tag)).collect()
    }
}

/// Tags that stay valid for other pixels of the same image: text, resolution, orientation, XMP, IPTC, ICC.
const KEPT: [u16; 19] = [
    269, 270, 271, 272, 274, 282, 283, 285, 296, 305, 306, 315, 316, 700, 33432, 33723, 34377,
    34675, 42016,
];

/// The maximum compression ratio: LZW reaches 1370:1, deflate 1032:1, fax and JPEG less.
const RATIO: usize = 4096;

fn read(bytes: &[u8], path: &Path, limit: u64) -> Result<(Raster<'static>, Kept, Vec<String>)> {
    let fault = |e: TiffError| fault(path, &e);
    let mut decoder = Decoder::new(Cursor::new(bytes)).map_err(fault)?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let most = most.min(bytes.len().saturating_mul(RATIO));
    let mut limits = Limits::default();
    limits.decoding_buffer_size = most;
    limits.intermediate_buffer_size = most;
    // Profiles and thumbnails may be large, but not larger than the file.
    limits.ifd_value_size = bytes.len();
    decoder = decoder.with_limits(limits);
    // DNGVersion: a raw file, whose first image is a preview.
    if matches!(decoder.find_tag(Tag::Unknown(50706)), Ok(Some(_))) {
        return Err(super::raw(path));
    }
    let (width, height) = decoder.dimensions().map_err(fault)?;
    let color = decoder.colortype().map_err(fault)?;
    let channels = channels(color, path)?;
    let size = check_size((width.into(), height.into(), channels as u64), limit, path)?;
    let layout = decoder.image_buffer_layout().map_err(fault)?;
    if layout.complete_len > most {
        return Err(Error::input(format!(
            "{}: corrupt TIFF file: {} bytes cannot hold {} bytes of pixels",
            path.display(),
            bytes.len(),
            layout.complete_len
        )));
    }
    check_memory(size, channels)?;
    let mut notes = Vec::new();
    if decoder.more_images() {
        let previews = previews(bytes).map_err(fault)?;
        if !previews {
            return Err(Error::unsupported(format!(
                "{}: the file has several pages, of which only one would be preserved; split it first, for example with tiffsplit",
                path.display()
            )));
        }
        notes.push("smaller copies of the image in the file are not preserved".to_owned());
    }
    let kept = keep(&mut decoder, color);
    let planar = decoder
        .find_tag_unsigned::<u16>(Tag::PlanarConfiguration)
        .map_err(fault)?
        == Some(2);
    let palette = match color {
        ColorType::Palette(_) => Some(decoder.get_tag_u16_vec(Tag::ColorMap).map_err(fault)?),
        _ => None,
    };
    let mut data = DecodingResult::U8(Vec::new());
    let layout = decoder.read_image_to_buffer(&mut data).map_err(fault)?;
    let (values, sample) = values(&data, &layout, color, &mut notes, path)?;
    let raster = match palette {
        Some(map) => Raster {
            color: Cow::Owned(look_up(&values, size, &map, path)?),
            alpha: None,
        },
        None if values.len() != size.pixels() * channels => {
            return Err(Error::input(format!(
                "{}: corrupt TIFF file: {} values for {size} with {channels} channels",
                path.display(),
                values.len()
            )));
        }
        None if planar => {
            let image = Image::from_planes(size.width, size.height, channels, values)?;
            Raster::from_interleaved(size, channels, &image.to_interleaved())?
        }
        None => Raster::from_interleaved(size, channels, &values)?,
    };
    Ok((raster, Kept { sample, ..kept }, notes))
}

/// Whether all pages after the first are smaller copies of it, or masks.
fn previews(bytes: &[u8]) -> std::result::Result<bool, TiffError> {
    let mut decoder = Decoder::new(Cursor::new(bytes))?;
    // A corrupt file may contain a cycle.
    const MOST: usize = 64;
    for _ in 0..MOST {
        if !decoder.more_images() {
            return Ok(true);
        }
        decoder.next_image()?;
        let kind = decoder.find_tag_unsigned::<u32>(Tag::NewSubfileType)?;
        if kind.unwrap_or(0) & 0b101 == 0 {
            return Ok(false);
        }
    }
    Ok(false)
}

fn fault(path: &Path, error: &TiffError) -> Error {
    let path_text = path.display();
    match error {
        TiffError::UnsupportedError(e) => Error::unsupported(format!("{path_text}: TIFF: {e}")),
        TiffError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            Error::input(format!("{path_text}: the TIFF file is truncated"))
        }
        TiffError::LimitsExceeded => Error::input(format!(
            "{path_text}: the TIFF file declares more pixels than the limit allows, or than it can hold"
        )),
        e => Error::input(format!("{path_text}: corrupt TIFF file: {e}")),
    }
}

/// The number of samples per pixel that are read.
fn channels(color: ColorType, path: &Path) -> Result<usize> {
    match color {
        ColorType::Gray(_) | ColorType::Palette(8) => Ok(1),
        // Grey with an extra sample is reported as two bands.
        ColorType::GrayA(_) | ColorType::Multiband { num_samples: 2, .. } => Ok(2),
        ColorType::RGB(_) | ColorType::YCbCr(8) => Ok(3),
        ColorType::RGBA(_) => Ok(4),
        other => Err(Error::unsupported(format!(
            "{}: TIFF with {other:?} is not supported; convert it to grey or RGB",
            path.display()
        ))),
    }
}

/// The preserved tags, and the compression of the file.
fn keep(decoder: &mut Decoder<Cursor<&[u8]>>, color: ColorType) -> Kept {
    let unsigned = |decoder: &mut Decoder<Cursor<&[u8]>>, tag| {
        decoder.find_tag_unsigned_vec::<u16>(tag).ok().flatten()
    };
    let first = |v: Option<Vec<u16>>| v.and_then(|v| v.first().copied());
    let compression = match first(unsigned(decoder, Tag::Compression)) {
        Some(5) => Compression::Lzw,
        Some(8 | 32946) => Compression::Deflate(DeflateLevel::Balanced),
        Some(32773) => Compression::Packbits,
        _ => Compression::Uncompressed,
    };
    let associated = matches!(color.num_samples(), 2 | 4)
        && first(unsigned(decoder, Tag::ExtraSamples)) == Some(1);
    let mut tags = Vec::new();
    for number in KEPT {
        let tag = Tag::from_u16_exhaustive(number);
        let mut value = ValueBuffer::empty(Type::BYTE);
        if let Ok(Some(_)) = decoder.image_ifd().find_tag_buf(tag, &mut value)
            && !(tag == Tag::ImageDescription && describes_layout(value.as_bytes()))
        {
            tags.push((tag, value));
        }
    }
    Kept {
        tags,
        sample: Sample::Float,
        compression,
        associated,
    }
}

/// Whether an `ImageDescription` is not free text but describes the layout of the file (number of pages, shape, sample type),
/// as written by tifffile, ImageJ, OME and microscopes. The output has a different layout, on which their readers would fail.
fn describes_layout(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let begins: [&[u8]; 7] = [
        b"{", b"<?xml", b"<OME", b"ImageJ=", b"SCIFIO=", b"shape=", b"state.",
    ];
    begins.iter().any(|b| text.starts_with(b))
}

/// Values as floats: integers map to 0 … 1, floats are unchanged.
fn values(
    data: &DecodingResult,
    layout: &BufferLayoutPreference,
    color: ColorType,
    notes: &mut Vec<String>,
    path: &Path,
) -> Result<(Vec<f32>, Sample)> {
    let unsupported = |what: String| Error::unsupported(format!("{}: {what}", path.display()));
    let scaled =
        |v: &[u8], max: f32| memory::collected(v.len(), v.iter().map(|v| f32::from(*v) / max));
    let palette = matches!(color, ColorType::Palette(_));
    Ok(match data {
        DecodingResult::U8(v) if color.bit_depth() == 8 => {
            // The values of a palette image are indices of colours.
            let max = if palette { 1.0 } else { 255.0 };
            (scaled(v, max)?, Sample::Eight)
        }
        DecodingResult::U8(v) if [1, 2, 4].contains(&color.bit_depth()) => {
            notes.push(format!(
                "{} bit samples are written as 8 bit",
                color.bit_depth()
            ));
            let row = layout.row_stride.map_or(v.len(), std::num::NonZero::get);
            (unpack(v, row, color.bit_depth()), Sample::Eight)
        }
        DecodingResult::U16(v) if color.bit_depth() == 16 => (
            memory::collected(v.len(), v.iter().map(|v| f32::from(*v) / 65535.0))?,
            Sample::Sixteen,
        ),
        DecodingResult::U32(v) => {
            notes.push("32 bit integers are written as 16 bit".to_owned());
            let values = v
                .iter()
                .map(|v| (f64::from(*v) / f64::from(u32::MAX)) as f32);
            (values.collect(), Sample::Sixteen)
        }
        DecodingResult::F16(v) => {
            notes.push("half floats are written as floats".to_owned());
            (v.iter().map(|v| v.to_f32()).collect(), Sample::Float)
        }
        DecodingResult::F32(v) => (memory::copied(v), Sample::Float),
        DecodingResult::F64(v) => {
            notes.push("double floats are written as floats".to_owned());
            (v.iter().map(|v| *v as f32).collect(), Sample::Float)
        }
        _ => {
            return Err(unsupported(format!(
                "TIFF with {} bit {color:?} is not supported; use 8 bit, 16 bit or float",
                color.bit_depth()
            )));
        }
    })
}

/// Unpacks samples of less than a byte; rows start at byte boundaries.
fn unpack(bytes: &[u8], row: usize, bits: u8) -> Vec<f32> {
    let max = f32::from((1_u16 << bits) as u8 - 1);
    let per_byte = 8 / bits;
    bytes
        .chunks(row.max(1))
        .flatten()
        .flat_map(|byte| {
            (0..per_byte).map(move |i| {
                let shift = 8 - bits * (i + 1);
                f32::from((byte >> shift) & ((1_u16 << bits) as u8 - 1)) / max
            })
        })
        .collect()
}

fn look_up(values: &[f32], size: limpid_core::Size, map: &[u16], path: &Path) -> Result<Image> {
    if map.len() != 3 * 256 || values.len() != size.pixels() {
        return Err(Error::input(format!(
            "{}: corrupt TIFF file: its palette has {} values, not 768",
            path.display(),
            map.len()
        )));
    }
    Ok(Image::from_fn(size.width, size.height, 3, |x, y, c| {
        let index = values[y * size.width + x] as usize;
        f32::from(map[c * 256 + index.min(255)]) / 65535.0
    }))
}

fn write(
    raster: &Raster<'_>,
    kept: Option<&Kept>,
    options: &WriteOptions,
    path: &Path,
) -> Result<Vec<u8>> {
    let sample = sample(kept, options);
    let grey = raster.color.channels() == 1;
    let writer = Writer {
        kept,
        size: raster.size(),
        alpha: raster.alpha.is_some(),
        float: sample == Sample::Float,
    };
    let written = match sample {
        Sample::Eight => {
            let (_, data) = raster.samples(byte)?;
            if grey {
                writer.image::<Gray8>(&data)
            } else {
                writer.image::<RGB8>(&data)
            }
        }
        Sample::Sixteen => {
            let (_, data) = raster.samples(|v| quantise(v, 65535.0) as u16)?;
            if grey {
                writer.image::<Gray16>(&data)
            } else {
                writer.image::<RGB16>(&data)
            }
        }
        Sample::Float => {
            let (_, data) = raster.samples(|v| v)?;
            if grey {
                writer.image::<Gray32Float>(&data)
            } else {
                writer.image::<RGB32Float>(&data)
            }
        }
    };
    written.map_err(|e| {
        Error::unsupported(format!(
            "{}: cannot be written as TIFF: {e}",
            path.display()
        ))
    })
}

/// The sample type that will be written.
fn sample(kept: Option<&Kept>, options: &WriteOptions) -> Sample {
    match options.bits {
        Some(Bits::Eight) => Sample::Eight,
        Some(Bits::Sixteen) => Sample::Sixteen,
        None => kept.map_or(Sample::Float, |k| k.sample),
    }
}

struct Writer<'a> {
    kept: Option<&'a Kept>,
    size: limpid_core::Size,
    alpha: bool,
    float: bool,
}

impl Writer<'_> {
    fn image<C: Encoded>(&self, data: &[C::Inner]) -> ::tiff::TiffResult<Vec<u8>>
    where
        [C::Inner]: TiffValue,
    {
        let mut file = Cursor::new(Vec::new());
        let compression = self
            .kept
            .map_or(Compression::Deflate(DeflateLevel::Balanced), |k| {
                k.compression
            });
        let mut encoder = TiffEncoder::new(&mut file)?.with_compression(compression);
        let (width, height) = (self.size.width.try_into()?, self.size.height.try_into()?);
        let mut image = encoder.new_image::<C>(width, height)?;
        if self.alpha {
            let associated = self.kept.map_or(self.float, |k| k.associated);
            image.extra_samples(&[if associated {
                ExtraSamples::AssociatedAlpha
            } else {
                ExtraSamples::UnassociatedAlpha
            }])?;
        }
        for (tag, value) in self.kept.iter().flat_map(|k| &k.tags) {
            image.encoder().write_tag_buf(*tag, value)?;
        }
        image.write_data(data)?;
        Ok(file.into_inner())
    }
}
