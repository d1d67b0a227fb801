//! TIFF: 8 and 16 bit and float, grey and colour, with alpha, in strips or tiles, interleaved or planar. Profile, text and
//! resolution tags are preserved.

mod directory;
mod encode;
mod numbers;
mod pages;
mod samples;

use super::Bits;
use super::codec::{self, Codec, Content, Holds};
use super::raster::{Raster, Transfer, check_memory, check_size};
use ::tiff::decoder::{Decoder, DecodingResult, Limits};
use ::tiff::encoder::{Compression, DeflateLevel};
use ::tiff::tags::{ByteOrder, Tag, Type, ValueBuffer};
use ::tiff::{ColorType, TiffError};
use directory::Directory;
use encode::{sample, write};
use limpid_core::{Error, Image, Result, memory};
pub(crate) use numbers::Numbers;
use pages::describes_layout;
pub(super) use pages::previews;
use samples::{Luma, look_up, unpack};
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
        let sample = sample(kept, &options);
        let mut raster = page.raster(sample.transfer())?;
        if kept.is_some_and(|kept| kept.is_premultiplied(sample)) {
            raster = raster.premultiplied();
        }
        let passed = page.passed();
        let file = write(&raster, (kept, passed), &options, page.path)?;
        Ok((file, Vec::new()))
    },
};

/// The data of a TIFF file that is preserved besides its pixels.
struct TiffExtras {
    tags: Vec<(Tag, ValueBuffer)>,
    sample: Sample,
    compression: Compression,
    /// Whether colour is premultiplied by alpha.
    associated: bool,
}

impl TiffExtras {
    fn tag(&self, number: u16) -> Option<&ValueBuffer> {
        let mut tags = self.tags.iter();
        tags.find(|(tag, _)| tag.to_u16() == number).map(|(_, v)| v)
    }

    /// Whether a file of a sample type stores display values that are multiplied by alpha.
    fn is_premultiplied(&self, sample: Sample) -> bool {
        let same = self.sample.transfer() == sample.transfer();
        self.associated && same && sample.transfer() == Transfer::Encoded
    }
}

impl std::fmt::Debug for TiffExtras {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TiffExtras")
            .field("tags", &codec::Extras::names(self))
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

impl codec::Extras for TiffExtras {
    fn transfer(&self) -> Transfer {
        self.sample.transfer()
    }

    fn sample(&self) -> &'static str {
        self.sample.name()
    }

    fn is_deep(&self) -> bool {
        self.sample == Sample::Sixteen
    }

    fn profile(&self) -> Option<Vec<u8>> {
        Some(self.tag(PROFILE)?.as_bytes().to_vec())
    }

    fn orientation(&self) -> u16 {
        let value = self.tag(ORIENTATION).map(ValueBuffer::as_bytes);
        let bytes = value.and_then(|bytes| bytes.first_chunk());
        bytes.map_or(1, |bytes| u16::from_ne_bytes(*bytes))
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

    /// A line `name=value` of the description.
    fn text(&self, name: &str) -> Option<String> {
        let (_, value) = (self.tags.iter()).find(|(tag, _)| *tag == Tag::ImageDescription)?;
        let text = std::str::from_utf8(value.as_bytes()).ok()?;
        let mut lines = text.trim_end_matches('\0').lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.to_owned())
    }

    /// The names of the tags.
    fn names(&self) -> Vec<String> {
        let name = |tag: &Tag| match tag.to_u16() {
            700 => "XMP".to_owned(),
            33723 => "IPTC".to_owned(),
            34675 => "ICC profile".to_owned(),
            34118 | 34680 | 34682 => "microscope".to_owned(),
            _ => format!("{tag:?}"),
        };
        self.tags.iter().map(|(tag, _)| name(tag)).collect()
    }
}

/// Tags that stay valid for other pixels of the same image: text, resolution, orientation, XMP, IPTC, ICC, the place on the Earth
/// (GeoTIFF, GDAL), and what electron microscopes say of a picture (Zeiss, FEI).
const KEPT: [u16; 30] = [
    269, 270, 271, 272, 274, 282, 283, 285, 296, 305, 306, 315, 316, 700, 33432, 33550, 33723,
    33922, 34118, 34264, 34377, 34675, 34680, 34682, 34735, 34736, 34737, 42016, 42112, 42113,
];

/// How the picture has to be turned, and its colour profile.
const ORIENTATION: u16 = 274;
const PROFILE: u16 = 34675;

/// The maximum compression ratio: LZW reaches 1370:1, deflate 1032:1, fax and JPEG less.
const RATIO: usize = 4096;

fn read(
    bytes: &[u8],
    path: &Path,
    limit: u64,
) -> Result<(Raster<'static>, TiffExtras, Vec<String>)> {
    let fault = |e: TiffError| fault(path, &e);
    let directory = Directory::first(bytes);
    let refused = directory.as_ref().and_then(|d| refuse(d, bytes, path));
    if let Some(error) = refused {
        return Err(error);
    }
    let palette = directory.as_ref().and_then(|d| d.palette(bytes));
    let plain = match &directory {
        Some(directory) => directory.plain(bytes),
        None => Cow::Borrowed(bytes),
    };
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let most = most.min(bytes.len().saturating_mul(RATIO));
    let mut decoder = open(&plain, most).map_err(fault)?;
    let (width, height) = decoder.dimensions().map_err(fault)?;
    let color = decoder.colortype().map_err(fault)?;
    let channels = channels(color, path)?;
    let shown = if palette.is_some() {
        channels + 2
    } else {
        channels
    };
    let size = check_size((width.into(), height.into(), shown as u64), limit, path)?;
    let layout = decoder.image_buffer_layout().map_err(fault)?;
    if layout.complete_len > most {
        return Err(Error::damaged(format!(
            "{}: corrupt TIFF file: {} bytes cannot hold {} bytes of pixels",
            path.display(),
            bytes.len(),
            layout.complete_len
        )));
    }
    check_memory(size, shown)?;
    let mut notes = Vec::new();
    if decoder.more_images() {
        let previews = previews(bytes).map_err(fault)?;
        if !previews {
            return Err(Error::unsupported(format!(
                "{}: the file has several pages, and only one can be read here; denoise and convert take all of them, and so does read_pages in Python",
                path.display()
            )));
        }
        notes.push("smaller copies of the image in the file are not preserved".to_owned());
    }
    let kept = keep(&mut decoder, color);
    let luma = matches!(color, ColorType::YCbCr(_)).then(|| luma(&mut decoder));
    let form = Form {
        width: size.width,
        palette: palette.is_some(),
        path,
    };
    let planes = directory.as_ref().map_or(1, |d| d.planes(bytes));
    let (mut values, sample) = match &directory {
        Some(directory) if planes > 1 => {
            drop(decoder);
            let mut copy = plain.to_vec();
            let mut planar = Vec::new();
            let mut sample = Sample::Float;
            for plane in 0..channels {
                directory.select(&plain, &mut copy, plane, planes);
                let mut decoder = open(&copy, most).map_err(fault)?;
                let (values, kind) = form.values(&mut decoder, &mut notes)?;
                planar.extend(values);
                sample = kind;
            }
            let count = planar.len();
            let image = Image::from_planes(size.width, size.height, channels, planar);
            let image = image.map_err(|_| wrong_count(path, count, (size, channels)))?;
            (image.to_interleaved(), sample)
        }
        _ => form.values(&mut decoder, &mut notes)?,
    };
    if values.len() != size.pixels() * channels {
        return Err(wrong_count(path, values.len(), (size, channels)));
    }
    if let Some(luma) = luma {
        luma.to_rgb(&mut values);
        notes.push("YCbCr is written as RGB".to_owned());
    }
    let raster = match palette {
        Some(map) => {
            notes.push("the palette's colours are written as RGB".to_owned());
            look_up(&values, (size, channels, color.bit_depth()), &map, path)?
        }
        None => Raster::from_interleaved(size, channels, &values)?,
    };
    notes.dedup();
    let kept = TiffExtras { sample, ..kept };
    let raster = if kept.is_premultiplied(sample) {
        raster.straight()
    } else {
        raster
    };
    Ok((raster, kept, notes))
}

/// Whether the file holds the values of a sensor, and is no photograph.
pub(super) fn is_raw(bytes: &[u8]) -> bool {
    Directory::first(bytes).is_some_and(|d| d.is_raw(bytes))
}

/// The error for a file that is not read, before its pixels are.
fn refuse(directory: &Directory, bytes: &[u8], path: &Path) -> Option<Error> {
    if directory.is_raw(bytes) {
        return Some(super::camera::unread(
            path,
            "a camera's own raw file, which is not read as TIFF",
        ));
    }
    if directory.is_preview(bytes) {
        return Some(Error::unsupported(format!(
            "{}: the first image of the file is a smaller copy of another one in it, as in a camera's raw file; convert the file first",
            path.display()
        )));
    }
    if let Some(kind) = directory.unread_color(bytes) {
        return Some(Error::unsupported(format!(
            "{}: TIFF with {kind} is not supported; convert it to grey or RGB of 8 or 16 bits, or float",
            path.display()
        )));
    }
    let name = directory.unread(bytes)?;
    Some(Error::unsupported(format!(
        "{}: a TIFF file compressed with {name}, which is not supported; write it with deflate or LZW",
        path.display()
    )))
}

fn open(bytes: &[u8], most: usize) -> std::result::Result<Decoder<Cursor<&[u8]>>, TiffError> {
    let mut limits = Limits::default();
    limits.decoding_buffer_size = most;
    limits.intermediate_buffer_size = most;
    // Profiles and thumbnails may be large, but not larger than the file.
    limits.ifd_value_size = bytes.len();
    Ok(Decoder::new(Cursor::new(bytes))?.with_limits(limits))
}

fn wrong_count(path: &Path, count: usize, (size, channels): (limpid_core::Size, usize)) -> Error {
    Error::damaged(format!(
        "{}: corrupt TIFF file: {count} values for {size} with {channels} channels",
        path.display()
    ))
}

/// How luma and chroma are stored.
fn luma(decoder: &mut Decoder<Cursor<&[u8]>>) -> Luma {
    let mut luma = Luma::default();
    let mut read = |tag: u16, to: &mut [f32]| {
        let value = decoder
            .find_tag(Tag::from_u16_exhaustive(tag))
            .ok()
            .flatten();
        if let Some(found) = value.and_then(|v| v.into_f32_vec().ok())
            && found.len() == to.len()
            && found.iter().all(|v| v.is_finite())
        {
            to.copy_from_slice(&found);
        }
    };
    read(529, &mut luma.weights);
    read(532, &mut luma.range);
    luma
}

fn fault(path: &Path, error: &TiffError) -> Error {
    let path_text = path.display();
    match error {
        TiffError::UnsupportedError(e) => Error::unsupported(format!("{path_text}: TIFF: {e}")),
        TiffError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Error::damaged(
            format!("{path_text}: the TIFF file is truncated, or its pixels are corrupt"),
        ),
        TiffError::LimitsExceeded => Error::too_large(format!(
            "{path_text}: the TIFF file declares more pixels than the limit allows, or than it can hold"
        )),
        e => Error::damaged(format!("{path_text}: corrupt TIFF file: {e}")),
    }
}

/// The number of samples per pixel that are read.
fn channels(color: ColorType, path: &Path) -> Result<usize> {
    match color {
        ColorType::Gray(_) => Ok(1),
        // Grey with an extra sample is reported as two bands.
        ColorType::GrayA(_) | ColorType::Multiband { num_samples: 2, .. } => Ok(2),
        ColorType::RGB(_) | ColorType::YCbCr(8) => Ok(3),
        ColorType::RGBA(_) => Ok(4),
        other => {
            let kind = match other {
                ColorType::CMYK(_) | ColorType::CMYKA(_) => "CMYK".to_owned(),
                ColorType::Lab(_) => "Lab".to_owned(),
                ColorType::YCbCr(bits) => format!("YCbCr of {bits} bits"),
                other => format!("{} samples per pixel", other.num_samples()),
            };
            Err(Error::unsupported(format!(
                "{}: TIFF with {kind} is not supported; convert it to grey or RGB",
                path.display()
            )))
        }
    }
}

/// The preserved tags, and the compression of the file.
fn keep(decoder: &mut Decoder<Cursor<&[u8]>>, color: ColorType) -> TiffExtras {
    let unsigned = |decoder: &mut Decoder<Cursor<&[u8]>>, tag| {
        decoder.find_tag_unsigned_vec::<u16>(tag).ok().flatten()
    };
    let first = |v: Option<Vec<u16>>| v.and_then(|v| v.first().copied());
    let compression = match first(unsigned(decoder, Tag::Compression)) {
        Some(5) => Compression::Lzw,
        Some(32773) => Compression::Packbits,
        Some(1) | None => Compression::Uncompressed,
        _ => Compression::Deflate(DeflateLevel::Balanced),
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
            // Files are written in the order of this machine.
            value.set_byte_order(ByteOrder::native());
            tags.push((tag, value));
        }
    }
    TiffExtras {
        tags,
        sample: Sample::Float,
        compression,
        associated,
    }
}

/// How samples are read.
struct Form<'a> {
    width: usize,
    /// Whether samples are indices of colours.
    palette: bool,
    path: &'a Path,
}

impl Form<'_> {
    /// The pixels as floats: integers map to 0 … 1, floats and indices are unchanged.
    fn values(
        &self,
        decoder: &mut Decoder<Cursor<&[u8]>>,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<f32>, Sample)> {
        let color = decoder.colortype().map_err(|e| fault(self.path, &e))?;
        let bits = color.bit_depth();
        let mut data = DecodingResult::U8(Vec::new());
        let read = decoder.read_image_to_buffer(&mut data);
        read.map_err(|e| fault(self.path, &e))?;
        let scaled =
            |v: &[u8], max: f32| memory::collected(v.len(), v.iter().map(|v| f32::from(*v) / max));
        let max = |most: f32| if self.palette { 1.0 } else { most };
        Ok(match &data {
            DecodingResult::U8(v) if bits == 8 => (scaled(v, max(255.0))?, Sample::Eight),
            DecodingResult::U8(v) if [1, 2, 4].contains(&bits) => {
                if !self.palette {
                    notes.push(format!("{bits} bit samples are written as 8 bit"));
                }
                let width = self.width * usize::from(color.num_samples());
                let most = f32::from((1_u16 << bits) - 1);
                (unpack(v, width, bits, max(most)), Sample::Eight)
            }
            DecodingResult::U16(v) if bits == 16 => {
                let values = v.iter().map(|v| f32::from(*v) / max(65535.0));
                (memory::collected(v.len(), values)?, Sample::Sixteen)
            }
            DecodingResult::U32(v) if bits == 32 => {
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
            other => {
                let signed = matches!(
                    other,
                    DecodingResult::I8(_)
                        | DecodingResult::I16(_)
                        | DecodingResult::I32(_)
                        | DecodingResult::I64(_)
                );
                let kind = if signed { "signed integers" } else { "samples" };
                return Err(Error::unsupported(format!(
                    "{}: TIFF with {bits} bit {kind} is not supported; use 8 bit, 16 bit or float",
                    self.path.display()
                )));
            }
        })
    }
}
