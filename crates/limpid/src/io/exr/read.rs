//! Reading an EXR file: headers by the `exr` crate, the structure checked here, blocks decompressed on all cores.
//!
//! The structure (offset tables, block positions and lengths) is walked before any pixel memory is taken, so that a
//! truncated file is told as such, and a small file that declares a huge image is refused.

use super::{PartSource, Samples, Source, fault, size_of};
use crate::{Error, Result, Size};
use ::exr::compression::Compression;
use ::exr::error::Error as ExrError;
use ::exr::math::Vec2;
use ::exr::meta::attribute::{ChannelList, IntegerBounds, LevelMode};
use ::exr::meta::header::Header;
use ::exr::meta::{BlockDescription, MetaData};
use rayon::prelude::*;
use std::io::Cursor;
use std::ops::Range;
use std::path::Path;

/// Bytes of pixels that are decompressed together.
const BATCH: usize = 64 << 20;

/// A block of pixels in the file.
#[derive(Debug, Clone)]
struct Block {
    part: usize,
    /// Inside the data window.
    bounds: IntegerBounds,
    /// Of the compressed bytes.
    range: Range<usize>,
}

/// The headers, checked, and where the offset tables start.
pub(in crate::io) fn headers(bytes: &[u8], path: &Path) -> Result<(MetaData, usize)> {
    check_version(bytes, path)?;
    check_windows(bytes, path)?;
    let mut cursor = Cursor::new(bytes);
    let meta = MetaData::read_from_buffered(&mut cursor, false).map_err(|e| fault(path, e))?;
    for header in &meta.headers {
        check_header(header, path)?;
    }
    MetaData::validate(&meta.headers, false).map_err(|e| fault(path, e))?;
    Ok((meta, cursor.position() as usize))
}

/// Refuses with plain words what the format allows and nobody here can read.
fn check_version(bytes: &[u8], path: &Path) -> Result<()> {
    let Some(&[version, flags, ..]) = bytes.get(4..8) else {
        return Err(Error::input(format!(
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
    if flags & 0x08 != 0 {
        return unsupported(
            "deep images (many samples in a pixel) are not supported; flatten the image first"
                .to_owned(),
        );
    }
    Ok(())
}

/// Looks at the data windows before the `exr` crate does, which turns an empty window (its end before its start) over.
fn check_windows(bytes: &[u8], path: &Path) -> Result<()> {
    let mut rest = bytes.get(8..).unwrap_or_default();
    let word = |rest: &mut &[u8]| -> Option<Vec<u8>> {
        let end = rest.iter().take(256).position(|b| *b == 0)?;
        let word = rest[..end].to_vec();
        *rest = &rest[end + 1..];
        Some(word)
    };
    let many = bytes.get(5).is_some_and(|flags| flags & 0x10 != 0);
    // Attributes follow each other, an empty name ends a header, and of many headers the last is empty. Where this goes
    // astray, the real reader says why.
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
    Ok(())
}

fn check_header(header: &Header, path: &Path) -> Result<()> {
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
    if header.deep {
        return Err(Error::unsupported(format!(
            "{path}: deep images (many samples in a pixel) are not supported; flatten the image first"
        )));
    }
    let sampled = header.channels.list.iter();
    if let Some(channel) = sampled.into_iter().find(|c| c.sampling != Vec2(1, 1)) {
        return Err(Error::unsupported(format!(
            "{path}: channel {} is stored at a lower resolution ({}x{} sub-sampling), which is not supported; write it \
             at full resolution",
            channel.name, channel.sampling.0, channel.sampling.1
        )));
    }
    if matches!(
        header.compression,
        Compression::HTJ2K32 | Compression::HTJ2K256
    ) {
        return Err(Error::unsupported(format!(
            "{path}: HTJ2K compression is not supported; use ZIP, PIZ or DWAA"
        )));
    }
    Ok(())
}

/// Reads all parts and channels.
pub(in crate::io) fn source(bytes: &[u8], path: &Path, limit: u64) -> Result<Source> {
    let (meta, tables) = headers(bytes, path)?;
    let blocks = blocks(bytes, &meta, tables, path)?;
    check_memory(&meta, &blocks, path, limit)?;
    let mut notes = Vec::new();
    let mut parts: Vec<PartSource> = Vec::with_capacity(meta.headers.len());
    for header in &meta.headers {
        if let BlockDescription::Tiles(tiles) = header.blocks
            && tiles.level_mode != LevelMode::Singular
        {
            notes.push("the smaller resolution levels of a mip map are not kept".to_owned());
        }
        let count = size_of(header).pixels();
        parts.push(PartSource {
            header: header.clone(),
            samples: header
                .channels
                .list
                .iter()
                .map(|c| Samples::zeros(c.sample_type, count))
                .collect(),
        });
    }
    let mut rest = blocks.as_slice();
    while !rest.is_empty() {
        let mut count = 0;
        let mut total = 0;
        while count < rest.len() && (total < BATCH || count < 2 * rayon::current_num_threads()) {
            total += raw_size(&meta.headers[rest[count].part], &rest[count].bounds);
            count += 1;
        }
        let (batch, after) = rest.split_at(count);
        decode(bytes, batch, &mut parts, path)?;
        rest = after;
    }
    Ok(Source { parts, notes })
}

fn raw_size(header: &Header, bounds: &IntegerBounds) -> usize {
    bounds.size.area() * header.channels.bytes_per_pixel
}

/// Where the blocks of full resolution lie. Every block must be there once, whole.
fn blocks(bytes: &[u8], meta: &MetaData, tables: usize, path: &Path) -> Result<Vec<Block>> {
    let truncated = |missing: usize, total: usize| {
        Error::input(format!(
            "{}: the file is truncated: {missing} of {total} blocks of pixels are missing",
            path.display()
        ))
    };
    let total: usize = meta.headers.iter().map(|h| h.chunk_count).sum();
    let room = bytes.len().saturating_sub(tables) / 8;
    if total > room {
        return Err(truncated(total, total));
    }
    let mut blocks = Vec::with_capacity(total);
    let mut missing = 0;
    let mut table = tables;
    for (part, header) in meta.headers.iter().enumerate() {
        let mut seen = vec![false; header.chunk_count];
        for _ in 0..header.chunk_count {
            let offset = u64::from_le_bytes(array(bytes, table).unwrap_or_default());
            table += 8;
            match block(bytes, meta, part, offset) {
                Some(Some((index, block))) if seen.get(index).is_some_and(|s| !s) => {
                    seen[index] = true;
                    blocks.push(block);
                }
                // A smaller level of a mip map.
                Some(None) => {}
                _ => missing += 1,
            }
        }
        let full = full_blocks(header);
        missing = missing.max(full - seen.iter().take(full).filter(|s| **s).count());
    }
    if missing > 0 {
        return Err(truncated(missing, total));
    }
    // In file order, so that memory is walked forward.
    blocks.sort_by_key(|b| b.range.start);
    Ok(blocks)
}

/// How many blocks the full resolution has.
fn full_blocks(header: &Header) -> usize {
    let size = header.layer_size;
    match header.blocks {
        BlockDescription::ScanLines => header.chunk_count,
        BlockDescription::Tiles(tiles) => {
            size.width().div_ceil(tiles.tile_size.width())
                * size.height().div_ceil(tiles.tile_size.height())
        }
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The block at an offset, with its number in the part; no block where it is of a smaller resolution level.
/// `None` where it is not whole or does not belong here.
fn block(
    bytes: &[u8],
    meta: &MetaData,
    part: usize,
    offset: u64,
) -> Option<Option<(usize, Block)>> {
    let header = &meta.headers[part];
    let mut at = usize::try_from(offset).ok()?;
    let mut int = || -> Option<i32> {
        let value = i32::from_le_bytes(array(bytes, at)?);
        at += 4;
        Some(value)
    };
    if meta.requirements.has_multiple_layers && usize::try_from(int()?).ok()? != part {
        return None;
    }
    let place = match header.blocks {
        BlockDescription::ScanLines => {
            let lines = header.compression.scan_lines_per_block();
            let y = i64::from(int()?) - i64::from(header.own_attributes.layer_position.y());
            let y = usize::try_from(y).ok().filter(|y| y % lines == 0)?;
            let height = lines.min(header.layer_size.height().checked_sub(y)?);
            let position = Vec2(0, i32::try_from(y).ok()?);
            let size = Vec2(header.layer_size.width(), height);
            Some((y / lines, IntegerBounds { position, size }))
        }
        BlockDescription::Tiles(tiles) => {
            let mut tile = [0_usize; 4];
            for value in &mut tile {
                *value = usize::try_from(int()?).ok()?;
            }
            tile_bounds(header, tiles.tile_size, tile)?
        }
    };
    let length = usize::try_from(int()?).ok()?;
    let range = at..at.checked_add(length).filter(|end| *end <= bytes.len())?;
    Some(place.map(|(index, bounds)| {
        let block = Block {
            part,
            bounds,
            range,
        };
        (index, block)
    }))
}

/// Number and rectangle of a tile of full resolution; nothing for tiles of smaller levels.
fn tile_bounds(
    header: &Header,
    tile_size: Vec2<usize>,
    [x, y, level_x, level_y]: [usize; 4],
) -> Option<Option<(usize, IntegerBounds)>> {
    let size = header.layer_size;
    if level_x != 0 || level_y != 0 {
        return Some(None);
    }
    let left = x.checked_mul(tile_size.width())?;
    let top = y.checked_mul(tile_size.height())?;
    let width = tile_size.width().min(size.width().checked_sub(left)?);
    let height = tile_size.height().min(size.height().checked_sub(top)?);
    if width == 0 || height == 0 {
        return None;
    }
    let position = Vec2(i32::try_from(left).ok()?, i32::try_from(top).ok()?);
    let bounds = IntegerBounds {
        position,
        size: Vec2(width, height),
    };
    let across = size.width().div_ceil(tile_size.width());
    Some(Some((y * across + x, bounds)))
}

/// Refuses what cannot be: more pixels than the compressed bytes can hold, or than the limit allows.
fn check_memory(meta: &MetaData, blocks: &[Block], path: &Path, limit: u64) -> Result<()> {
    let mut total = 0_u64;
    for header in &meta.headers {
        let size = size_of(header);
        let bytes = (size.width as u64)
            .checked_mul(size.height as u64)
            .and_then(|p| p.checked_mul(header.channels.bytes_per_pixel as u64));
        total = bytes
            .and_then(|b| total.checked_add(b))
            .filter(|t| *t <= limit)
            .ok_or_else(|| {
                Error::input(format!(
                    "{}: {} channels of {size} are more than the limit of {} MiB",
                    path.display(),
                    header.channels.list.len(),
                    limit >> 20
                ))
            })?;
    }
    for block in blocks {
        let header = &meta.headers[block.part];
        // Deflate packs at most 1032:1. DWA stacks run lengths on deflate.
        let ratio = match header.compression {
            Compression::Uncompressed => 1,
            Compression::DWAA(_) | Compression::DWAB(_) => 1 << 16,
            _ => 2048,
        };
        if raw_size(header, &block.bounds) / ratio > block.range.len() {
            return Err(Error::input(format!(
                "{}: damaged OpenEXR file: {} bytes cannot hold a block of {} pixels",
                path.display(),
                block.range.len(),
                block.bounds.size.area()
            )));
        }
    }
    Ok(())
}

/// Decompresses blocks on all cores and puts their samples into the parts' channels.
fn decode(bytes: &[u8], blocks: &[Block], parts: &mut [PartSource], path: &Path) -> Result<()> {
    let raw: Vec<Vec<u8>> = blocks
        .par_iter()
        .map(|block| {
            let header = &parts[block.part].header;
            decompress(header, &bytes[block.range.clone()], block.bounds)
                .map_err(|e| fault(path, e))
        })
        .collect::<Result<_>>()?;
    for (part, PartSource { header, samples }) in parts.iter_mut().enumerate() {
        let size = size_of(header);
        let offsets = channel_offsets(&header.channels);
        samples
            .par_iter_mut()
            .zip(offsets)
            .for_each(|(samples, offset)| {
                let mine = blocks.iter().zip(&raw).filter(|(b, _)| b.part == part);
                for (block, raw) in mine {
                    scatter(
                        samples,
                        size,
                        block,
                        raw,
                        (offset, header.channels.bytes_per_pixel),
                    );
                }
            });
    }
    Ok(())
}

fn decompress(
    header: &Header,
    compressed: &[u8],
    bounds: IntegerBounds,
) -> ::exr::error::Result<Vec<u8>> {
    let expected = raw_size(header, &bounds);
    if header.compression == Compression::Uncompressed && compressed.len() != expected {
        return Err(ExrError::Invalid("length of a block of pixels".into()));
    }
    let raw = header.compression.decompress_image_section_from_le(
        header,
        compressed.to_vec(),
        bounds,
        false,
    )?;
    if raw.len() != expected {
        return Err(ExrError::Invalid("length of a block of pixels".into()));
    }
    Ok(raw)
}

/// Bytes before each channel in one pixel's worth of a line.
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

/// Copies one channel of a block: a line holds all samples of the first channel, then of the second, and so on.
fn scatter(
    samples: &mut Samples,
    size: Size,
    block: &Block,
    raw: &[u8],
    (offset, pixel_bytes): (usize, usize),
) {
    let (width, height) = (block.bounds.size.0, block.bounds.size.1);
    let (x, y) = (
        block.bounds.position.0 as usize,
        block.bounds.position.1 as usize,
    );
    for row in 0..height {
        let line = &raw[row * width * pixel_bytes + width * offset..];
        let at = (y + row) * size.width + x;
        match samples {
            Samples::F16(out) => fill(&mut out[at..at + width], line, half::f16::from_ne_bytes),
            Samples::F32(out) => fill(&mut out[at..at + width], line, f32::from_ne_bytes),
            Samples::U32(out) => fill(&mut out[at..at + width], line, u32::from_ne_bytes),
        }
    }
}

fn fill<T, const N: usize>(out: &mut [T], bytes: &[u8], decode: impl Fn([u8; N]) -> T) {
    let (chunks, _) = bytes.as_chunks::<N>();
    out.iter_mut()
        .zip(chunks)
        .for_each(|(o, c)| *o = decode(*c));
}
