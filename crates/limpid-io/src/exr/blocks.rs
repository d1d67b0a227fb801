//! The structure of an EXR file: the positions of the blocks of pixels, and whether they are plausible.
//!
//! Everything is checked before any pixel memory is allocated and before a decoder sees the bytes.

use super::{htj2k, size_of};
use ::exr::compression::Compression;
use ::exr::error::Error as ExrError;
use ::exr::math::Vec2;
use ::exr::meta::attribute::{ChannelDescription, IntegerBounds};
use ::exr::meta::header::Header;
use ::exr::meta::{BlockDescription, MetaData};
use limpid_core::{Error, Result};
use std::ops::Range;
use std::path::Path;

/// A block of pixels in the file.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) part: usize,
    /// Position inside the data window.
    pub(super) bounds: IntegerBounds,
    /// Range of the compressed bytes.
    pub(super) range: Range<usize>,
}

/// Bytes of a block's samples.
pub(super) fn raw_size(header: &Header, bounds: &IntegerBounds) -> usize {
    if !is_coarse(header) {
        return bounds.size.area() * header.channels.bytes_per_pixel;
    }
    let lines = bounds.size.1;
    (0..lines).map(|line| line_size(header, bounds, line)).sum()
}

/// Whether a channel has fewer samples than the part has pixels.
pub(super) fn is_coarse(header: &Header) -> bool {
    let mut channels = header.channels.list.iter();
    channels.any(|c| c.sampling != Vec2(1, 1))
}

/// Bytes of a channel in a line of a block.
fn row_size(
    channel: &ChannelDescription,
    header: &Header,
    bounds: &IntegerBounds,
    line: usize,
) -> usize {
    let corner = header.own_attributes.layer_position;
    let (first, count) = sampled(
        (corner.1, bounds.position.1, bounds.size.1),
        channel.sampling.1,
    );
    let here = line >= first && (line - first).is_multiple_of(channel.sampling.1) && count > 0;
    let (_, width) = sampled(
        (corner.0, bounds.position.0, bounds.size.0),
        channel.sampling.0,
    );
    usize::from(here) * width * channel.sample_type.bytes_per_sample()
}

fn line_size(header: &Header, bounds: &IntegerBounds, line: usize) -> usize {
    let channels = header.channels.list.iter();
    channels.map(|c| row_size(c, header, bounds, line)).sum()
}

/// Where the lines of a channel begin in the samples of a block.
pub(super) fn rows(
    header: &Header,
    bounds: &IntegerBounds,
    channel: usize,
) -> impl Iterator<Item = usize> {
    let mut begin = 0;
    (0..bounds.size.1).filter_map(move |line| {
        let list = &header.channels.list;
        let before = list[..channel].iter();
        let at = begin
            + before
                .map(|c| row_size(c, header, bounds, line))
                .sum::<usize>();
        begin += line_size(header, bounds, line);
        (row_size(&list[channel], header, bounds, line) > 0).then_some(at)
    })
}

/// The first of some lines that a channel has samples in, counted from the first of them, and the number of such lines: those whose
/// coordinates are multiples of `step`. The same for columns.
pub(super) fn sampled(
    (corner, position, length): (i32, i32, usize),
    step: usize,
) -> (usize, usize) {
    let begin = i64::from(corner) + i64::from(position);
    let first = (-begin).rem_euclid(step.max(1) as i64) as usize;
    (first, length.saturating_sub(first).div_ceil(step.max(1)))
}

/// The blocks of full resolution. Every block must exist once and be complete.
pub(super) fn blocks(
    bytes: &[u8],
    meta: &MetaData,
    tables: usize,
    path: &Path,
) -> Result<Vec<Block>> {
    let truncated = |missing: usize, total: usize| {
        Error::damaged(format!(
            "{}: the file is truncated: {missing} of {total} blocks of pixels are missing",
            path.display()
        ))
    };
    let flat = || meta.headers.iter().filter(|h| !h.deep);
    let total: usize = flat().map(|h| h.chunk_count).sum();
    let room = bytes.len().saturating_sub(tables) / 8;
    if total > room {
        return Err(truncated(total, total));
    }
    let mut blocks = Vec::with_capacity(total);
    let mut missing = 0;
    let mut table = tables;
    for (part, header) in meta.headers.iter().enumerate() {
        if header.deep {
            table += 8 * header.chunk_count;
            continue;
        }
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
    // In file order, so that memory is read sequentially.
    blocks.sort_by_key(|b| b.range.start);
    Ok(blocks)
}

/// The number of blocks at full resolution.
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

pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The block at an offset, with its index in the part; `Some(None)` if it belongs to a smaller resolution level. `None` if it
/// is incomplete or misplaced.
fn block(
    bytes: &[u8],
    meta: &MetaData,
    part: usize,
    offset: u64,
) -> Option<Option<(usize, Block)>> {
    let mut at = usize::try_from(offset).ok()?;
    let place = place(bytes, meta, part, &mut at)?;
    let length = usize::try_from(i32::from_le_bytes(array(bytes, at)?)).ok()?;
    at += 4;
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

/// Number and rectangle of the block that begins at a position, which is moved behind what says so; `Some(None)` if it belongs to a smaller
/// resolution level.
pub(super) fn place(
    bytes: &[u8],
    meta: &MetaData,
    part: usize,
    at: &mut usize,
) -> Option<Option<(usize, IntegerBounds)>> {
    let header = &meta.headers[part];
    let mut int = || -> Option<i32> {
        let value = i32::from_le_bytes(array(bytes, *at)?);
        *at += 4;
        Some(value)
    };
    if meta.requirements.has_multiple_layers && usize::try_from(int()?).ok()? != part {
        return None;
    }
    Some(match header.blocks {
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
    })
}

/// Number and rectangle of a tile of full resolution; `None` for tiles of smaller levels.
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

/// Refuses implausible sizes: more pixels than the compressed bytes can hold, or than the limit allows.
pub(super) fn check_memory(
    bytes: &[u8],
    meta: &MetaData,
    blocks: &[Block],
    path: &Path,
    limit: u64,
) -> Result<()> {
    let mut total = 0_u64;
    for header in meta.headers.iter().filter(|header| !header.deep) {
        let size = size_of(header);
        let bytes = (size.width as u64)
            .checked_mul(size.height as u64)
            .and_then(|p| p.checked_mul(header.channels.bytes_per_pixel as u64));
        total = bytes
            .and_then(|b| total.checked_add(b))
            .filter(|t| *t <= limit)
            .ok_or_else(|| {
                Error::too_large(format!(
                    "{}: {} channels of {size} are more than the limit of {} MiB; raise the limit, or store fewer layers",
                    path.display(),
                    header.channels.list.len(),
                    limit >> 20
                ))
            })?;
    }
    for block in blocks {
        let header = &meta.headers[block.part];
        // Deflate compresses at most 1032:1. DWA combines run lengths with deflate.
        let ratio = match header.compression {
            Compression::Uncompressed => 1,
            Compression::DWAA(_) | Compression::DWAB(_) => 1 << 16,
            // A byte for each resolution of a channel holds any number of zeros, but the data says how many.
            Compression::HTJ2K32 | Compression::HTJ2K256 => usize::MAX,
            _ => 2048,
        };
        let raw = raw_size(header, &block.bounds);
        let packed = &bytes[block.range.clone()];
        let what = match header.compression {
            _ if raw / ratio > packed.len() => "bytes cannot hold",
            Compression::HTJ2K32 | Compression::HTJ2K256
                if packed.len() != raw
                    && !htj2k::is_of_size(packed, header.channels.list.len(), &block.bounds) =>
            {
                "bytes are not HTJ2K data for"
            }
            _ => continue,
        };
        return Err(Error::damaged(format!(
            "{}: corrupt OpenEXR file: {} {what} a block of {} pixels",
            path.display(),
            packed.len(),
            block.bounds.size.area()
        )));
    }
    limpid_core::memory::check(total)
}

/// Checks the header of a block, which the decoder does not validate.
pub(super) fn check_payload(
    header: &Header,
    packed: &[u8],
    bounds: &IntegerBounds,
) -> ::exr::error::Result<()> {
    let expected = raw_size(header, bounds);
    let wrong = || Err(ExrError::Invalid("length of a block of pixels".into()));
    match header.compression {
        Compression::Uncompressed if packed.len() != expected => wrong(),
        Compression::DWAA(_) | Compression::DWAB(_) if packed.len() != expected => {
            // A header of eleven counters. Sizes of unpacked data are for whole tiles of 8x8.
            let across = bounds.size.width().next_multiple_of(8);
            let down = bounds.size.height().next_multiple_of(8);
            let most = 4 * across * down * header.channels.bytes_per_pixel + 1024;
            let counter = |i: usize| u64::from_le_bytes(array(packed, 8 * i).unwrap_or_default());
            if (1..10).any(|i| counter(i) > most as u64) {
                return wrong();
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
