//! Reading an EXR file: headers by the `exr` crate, the structure checked here, blocks decompressed on all cores.
//!
//! The structure (offset tables, block positions and lengths) is checked before any pixel memory is allocated, so that a
//! truncated file is reported as such, and a small file that declares a huge image is refused.

use super::blocks::{Block, array, blocks, check_memory, check_payload, is_coarse, raw_size, rows};
use super::{PartSource, Samples, Source, chroma, coarse, deep, fault, htj2k, size_of};
use ::exr::compression::Compression;
use ::exr::error::Error as ExrError;
use ::exr::meta::attribute::{ChannelDescription, ChannelList, IntegerBounds, LevelMode};
use ::exr::meta::header::Header;
use ::exr::meta::{BlockDescription, MetaData};
use limpid_core::{Error, Result};
use rayon::prelude::*;
use std::io::Cursor;
use std::ops::Range;
use std::path::Path;

/// Bytes of pixels that are decompressed together.
const BATCH: usize = 16 << 20;

/// What is said of deep images where flattening was not asked for.
const DEEP: &str = "a deep image (many samples in a pixel), which is read only with the option 'flatten': it composites the samples into one";

/// The validated headers, and the position of the offset tables. Deep parts are refused unless they are to be flattened.
pub(crate) fn headers(bytes: &[u8], path: &Path, flatten: bool) -> Result<(MetaData, usize)> {
    check_version(bytes, path, flatten)?;
    let lists = check_windows(bytes, path)?;
    let coarse = chroma::whole(bytes, &lists);
    let mut cursor = Cursor::new(coarse.as_ref().map_or(bytes, |(copy, _)| copy));
    let mut meta = MetaData::read_from_buffered(&mut cursor, false).map_err(|e| fault(path, e))?;
    let end = cursor.position() as usize;
    for header in &meta.headers {
        check_header(header, path, flatten)?;
    }
    // The `exr` crate knows the headers of deep parts, but refuses them.
    let flat: Vec<Header> = meta.headers.iter().map(deep::flat).collect();
    MetaData::validate(&flat, false).map_err(|e| fault(path, e))?;
    if let Some((_, samplings)) = &coarse {
        chroma::restore(&mut meta.headers, samplings, path)?;
    }
    Ok((meta, end))
}

/// Rejects files that the format permits but Limpid does not support, with the reason.
fn check_version(bytes: &[u8], path: &Path, flatten: bool) -> Result<()> {
    let Some(&[version, flags, ..]) = bytes.get(4..8) else {
        return Err(Error::damaged(format!(
            "{}: the file ends in its header; it is truncated",
            path.display()
        )));
    };
    let unsupported = |what: String| Err(Error::unsupported(format!("{}: {what}", path.display())));
    if version != 2 {
        return unsupported(format!(
            "OpenEXR version {version} is not supported, only version 2"
        ));
    }
    if flags & 0x08 != 0 && !flatten {
        return unsupported(DEEP.to_owned());
    }
    Ok(())
}

/// Checks the data windows before the `exr` crate does, which overflows on an empty window (its end before its start). Returns where
/// the lists of channels are.
fn check_windows(bytes: &[u8], path: &Path) -> Result<chroma::Lists> {
    let mut lists = Vec::new();
    let mut rest = bytes.get(8..).unwrap_or_default();
    let word = |rest: &mut &[u8]| -> Option<Vec<u8>> {
        let end = rest.iter().take(256).position(|b| *b == 0)?;
        let word = rest[..end].to_vec();
        *rest = &rest[end + 1..];
        Some(word)
    };
    let many = bytes.get(5).is_some_and(|flags| flags & 0x10 != 0);
    // Attributes are consecutive, an empty name ends a header, and multiple headers end with an empty one. If the structure is
    // invalid, the real reader reports the reason.
    let mut ended = !many;
    while let Some(name) = word(&mut rest) {
        if name.is_empty() {
            if ended {
                break;
            }
            ended = true;
            continue;
        }
        ended = !many;
        let length = word(&mut rest).and_then(|_| array::<4>(rest, 0));
        let Some(value) = length
            .and_then(|l| usize::try_from(i32::from_le_bytes(l)).ok())
            .and_then(|l| rest.get(4..4_usize.checked_add(l)?))
        else {
            break;
        };
        rest = &rest[4 + value.len()..];
        if name == b"channels" {
            let end = bytes.len() - rest.len();
            lists.push(end - value.len()..end);
        }
        if name == b"dataWindow" && value.len() == 16 {
            let int = |i: usize| i32::from_le_bytes(array(value, 4 * i).unwrap_or_default());
            if int(2) < int(0) || int(3) < int(1) {
                return Err(Error::input(format!(
                    "{}: the image has no pixels (empty data window); at least 1x1 is needed",
                    path.display()
                )));
            }
        }
    }
    Ok(lists)
}

fn check_header(header: &Header, path: &Path, flatten: bool) -> Result<()> {
    let path = path.display();
    let size = size_of(header);
    if size.width == 0 || size.height == 0 {
        return Err(Error::input(format!(
            "{path}: the image is {size}; at least 1x1 is needed"
        )));
    }
    if header.channels.list.is_empty() {
        return Err(Error::input(format!("{path}: a part has no channels")));
    }
    if header.deep && !header.compression.supports_deep_data() {
        return Err(Error::damaged(format!(
            "{path}: corrupt OpenEXR file: a deep image is not compressed by {}",
            header.compression
        )));
    }
    if header.deep && !flatten {
        return Err(Error::unsupported(format!("{path}: {DEEP}")));
    }
    Ok(())
}

/// Reads all parts and channels.
pub(crate) fn source(bytes: &[u8], path: &Path, limit: u64, flatten: bool) -> Result<Source> {
    let (meta, tables) = headers(bytes, path, flatten)?;
    let blocks = blocks(bytes, &meta, tables, path)?;
    check_memory(bytes, &meta, &blocks, path, limit)?;
    let mut notes = Vec::new();
    let mut parts: Vec<PartSource> = Vec::with_capacity(meta.headers.len());
    let mut table = tables;
    for (part, header) in meta.headers.iter().enumerate() {
        let own = table;
        table += 8 * header.chunk_count;
        if header.deep {
            parts.push(deep::read(bytes, &meta, part, own, (path, limit))?);
            continue;
        }
        if let BlockDescription::Tiles(tiles) = header.blocks
            && tiles.level_mode != LevelMode::Singular
        {
            notes.push("the smaller levels of a mip map are not preserved".to_owned());
        }
        let size = header.layer_size;
        let zeros = |c: &ChannelDescription| {
            let count = (size.0 / c.sampling.0) * (size.1 / c.sampling.1);
            Samples::zeros(c.sample_type, count)
        };
        parts.push(PartSource {
            header: header.clone(),
            samples: header
                .channels
                .list
                .iter()
                .map(zeros)
                .collect::<Result<_>>()?,
        });
    }
    let mut rest = blocks.as_slice();
    let pool = htj2k::Pool::default();
    while !rest.is_empty() {
        let mut count = 0;
        let mut total = 0;
        while count < rest.len() && (total < BATCH || count < 2 * rayon::current_num_threads()) {
            total += raw_size(&meta.headers[rest[count].part], &rest[count].bounds);
            count += 1;
        }
        let (batch, after) = rest.split_at(count);
        decode(bytes, batch, &mut parts, path, &pool)?;
        rest = after;
    }
    let parts = parts
        .into_iter()
        .map(chroma::convert)
        .collect::<Result<_>>()?;
    Ok(Source { parts, notes })
}

/// Decompresses blocks on all cores and puts their samples into the parts' channels.
fn decode(
    bytes: &[u8],
    blocks: &[Block],
    parts: &mut [PartSource],
    path: &Path,
    pool: &htj2k::Pool,
) -> Result<()> {
    let raw: Vec<Vec<u8>> = blocks
        .par_iter()
        .map(|block| {
            let header = &parts[block.part].header;
            decompress(header, &bytes[block.range.clone()], block.bounds, pool)
                .map_err(|e| fault(path, e))
        })
        .collect::<Result<_>>()?;
    for (part, PartSource { header, samples }) in parts.iter_mut().enumerate() {
        let size = size_of(header);
        let mine = || blocks.iter().zip(&raw).filter(|(b, _)| b.part == part);
        let pixel = header.channels.bytes_per_pixel;
        let coarse = is_coarse(header);
        let offsets = channel_offsets(&header.channels);
        samples
            .par_iter_mut()
            .zip(offsets)
            .enumerate()
            .for_each(|(channel, (samples, offset))| {
                let step = header.channels.list[channel].sampling;
                for (block, raw) in mine() {
                    let IntegerBounds {
                        position,
                        size: area,
                    } = block.bounds;
                    let begin = (position.1 as usize / step.1) * (size.width / step.0)
                        + position.0 as usize / step.0;
                    let mut row = begin..begin + area.0 / step.0;
                    let mut copy = |at: usize| {
                        scatter(samples, row.clone(), &raw[at..]);
                        row = row.start + size.width / step.0..row.end + size.width / step.0;
                    };
                    if coarse {
                        rows(header, &block.bounds, channel).for_each(&mut copy);
                    } else {
                        let lines = 0..area.1;
                        lines.for_each(|y| copy(area.0 * (y * pixel + offset)));
                    }
                }
            });
    }
    for (block, raw) in blocks.iter().zip(raw) {
        let compression = parts[block.part].header.compression;
        if matches!(compression, Compression::HTJ2K32 | Compression::HTJ2K256) {
            pool.give(raw);
        }
    }
    Ok(())
}

fn decompress(
    header: &Header,
    compressed: &[u8],
    bounds: IntegerBounds,
    pool: &htj2k::Pool,
) -> ::exr::error::Result<Vec<u8>> {
    check_payload(header, compressed, &bounds)?;
    let expected = raw_size(header, &bounds);
    let raw = match header.compression {
        Compression::HTJ2K32 | Compression::HTJ2K256 if compressed.len() != expected => {
            htj2k::decompress(header, compressed, &bounds, pool)?
        }
        _ if is_coarse(header) => coarse::decompress(header, compressed, bounds)?,
        compression => compression.decompress_image_section_from_le(
            header,
            compressed.to_vec(),
            bounds,
            false,
        )?,
    };
    if raw.len() != expected {
        return Err(ExrError::Invalid("length of a block of pixels".into()));
    }
    Ok(raw)
}

/// Byte offset of each channel for one pixel of a line.
fn channel_offsets(channels: &ChannelList) -> Vec<usize> {
    let mut offset = 0;
    let sizes = channels
        .list
        .iter()
        .map(|c| c.sample_type.bytes_per_sample());
    let mut before = |size: usize| {
        offset += size;
        offset - size
    };
    sizes.map(&mut before).collect()
}

/// Copies a line of a channel: a line of a block holds all samples of the first channel, then of the second, and so on.
fn scatter(samples: &mut Samples, range: Range<usize>, line: &[u8]) {
    match samples {
        Samples::F16(out) => fill(&mut out[range], line, half::f16::from_ne_bytes),
        Samples::F32(out) => fill(&mut out[range], line, f32::from_ne_bytes),
        Samples::U32(out) => fill(&mut out[range], line, u32::from_ne_bytes),
    }
}

fn fill<T, const N: usize>(out: &mut [T], bytes: &[u8], decode: impl Fn([u8; N]) -> T) {
    let (chunks, _) = bytes.as_chunks::<N>();
    out.iter_mut()
        .zip(chunks)
        .for_each(|(o, c)| *o = decode(*c));
}
