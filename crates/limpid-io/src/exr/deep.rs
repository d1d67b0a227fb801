//! Deep parts: many samples in a pixel, each at a depth. On request they are flattened while they are read: composited front to back into one.
//!
//! Samples are made tidy first, as OpenEXR's "Interpreting OpenEXR Deep Pixels" says: sorted by depth, volumes (with `ZBack` behind `Z`) split where
//! others begin or end, and volumes of one place merged; points of one place keep their order. Channels are premultiplied by `A`, without which every sample is opaque. `Z` becomes the
//! mean depth of what is visible, and whole numbers (objects) those of the sample that is seen most.

mod pixel;

use self::pixel::{Channels, Pixel};
use super::blocks::{array, place};
use super::{PartSource, Samples, coarse, fault, size_of};
use ::exr::compression::Compression;
use ::exr::meta::attribute::{ChannelDescription, IntegerBounds, LineOrder, SampleType};
use ::exr::meta::header::Header;
use ::exr::meta::{BlockDescription, MetaData};
use half::f16;
use limpid_core::memory::check;
use limpid_core::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;

/// The header of a part when it is flattened.
pub(super) fn flat(header: &Header) -> Header {
    if !header.deep {
        return header.clone();
    }
    let mut flat = header.clone();
    flat.deep = false;
    flat.deep_data_version = None;
    flat.max_samples_per_pixel = None;
    let channels = header.channels.list.iter();
    let kept: Vec<ChannelDescription> = channels.filter(|c| !is_back(c)).cloned().collect();
    flat.channels = ::exr::meta::attribute::ChannelList::new(kept.into());
    flat.with_encoding(
        Compression::ZIP16,
        BlockDescription::ScanLines,
        LineOrder::Increasing,
    )
}

fn is_back(channel: &ChannelDescription) -> bool {
    channel.name.as_slice() == b"ZBack"
}

/// A block of pixels in the file.
struct Block {
    bounds: IntegerBounds,
    counts: Range<usize>,
    samples: Range<usize>,
    /// Bytes of the samples.
    unpacked: usize,
}

/// Reads and flattens a part whose offsets are at `table`.
pub(super) fn read(
    bytes: &[u8],
    meta: &MetaData,
    part: usize,
    table: usize,
    (path, limit): (&Path, u64),
) -> Result<PartSource> {
    let header = &meta.headers[part];
    let damaged =
        |what: &str| Error::damaged(format!("{}: corrupt OpenEXR file: {what}", path.display()));
    let size = size_of(header);
    let channels = Channels::of(header);
    let most = size.pixels() as u64 * 4 * channels.kinds.len() as u64;
    if most > limit {
        return Err(Error::too_large(format!(
            "{}: {} channels of {size} are more than the limit of {} MiB",
            path.display(),
            channels.kinds.len(),
            limit >> 20
        )));
    }
    let mut blocks = Vec::new();
    let mut covered = 0;
    for i in 0..header.chunk_count {
        let offset = array(bytes, table + 8 * i).map(u64::from_le_bytes);
        let found = offset.and_then(|offset| block(bytes, meta, part, offset));
        match found.ok_or_else(|| damaged("a deep block is truncated or misplaced"))? {
            Some(block) => {
                covered += block.bounds.size.area();
                blocks.push(block);
            }
            // A smaller level of a mip map.
            None => continue,
        }
    }
    if covered != size.pixels() {
        return Err(damaged("deep blocks do not cover the image"));
    }
    check(most)?;
    // Deflate packs at most 1032:1.
    let wrong = |b: &&Block| b.unpacked / 2048 > b.samples.len() || b.unpacked as u64 > limit;
    if blocks.iter().any(|b| wrong(&b)) {
        return Err(damaged("a deep block is smaller than its samples"));
    }
    let kept: Vec<usize> = (0..channels.kinds.len())
        .filter(|c| Some(*c) != channels.back)
        .collect();
    let mut planes = vec![Plane::zeros(size.pixels())?; kept.len()];
    // A few at a time: what is flattened is put in place before more is read.
    for some in blocks.chunks(4 * rayon::current_num_threads()) {
        let made: Vec<Vec<f64>> = some
            .par_iter()
            .map(|block| flattened(bytes, header, block, &channels, path))
            .collect::<Result<_>>()?;
        for (block, values) in some.iter().zip(made) {
            let bounds = block.bounds;
            let (left, top) = (bounds.position.0 as usize, bounds.position.1 as usize);
            for (i, pixel) in values.chunks_exact(channels.kinds.len()).enumerate() {
                let at = (top + i / bounds.size.0) * size.width + left + i % bounds.size.0;
                for (plane, &channel) in planes.iter_mut().zip(&kept) {
                    plane.0[at] = pixel[channel];
                }
            }
        }
    }
    let samples = planes.iter().zip(&kept);
    let samples = samples.map(|(plane, &channel)| plane.samples(channels.kinds[channel]));
    Ok(PartSource {
        header: flat(header),
        samples: samples.collect(),
    })
}

/// Values of a channel: doubles hold all sample types.
#[derive(Clone)]
struct Plane(Vec<f64>);

impl Plane {
    fn zeros(count: usize) -> Result<Self> {
        Ok(Self(limpid_core::memory::zeroed(count)?))
    }

    fn samples(&self, kind: SampleType) -> Samples {
        match kind {
            SampleType::U32 => Samples::U32(self.0.iter().map(|v| *v as u32).collect()),
            kind => {
                let values: Vec<f32> = self.0.iter().map(|v| *v as f32).collect();
                Samples::from_f32(&values, kind)
            }
        }
    }
}

/// The block at an offset; `Some(None)` if it belongs to a smaller level. `None` if it is incomplete or misplaced.
fn block(bytes: &[u8], meta: &MetaData, part: usize, offset: u64) -> Option<Option<Block>> {
    let mut at = usize::try_from(offset).ok()?;
    let found = place(bytes, meta, part, &mut at)?;
    let mut length = || {
        let value = u64::from_le_bytes(array(bytes, at)?);
        at += 8;
        usize::try_from(value).ok()
    };
    let (counts, packed, unpacked) = (length()?, length()?, length()?);
    let middle = at.checked_add(counts)?;
    let end = middle
        .checked_add(packed)
        .filter(|end| *end <= bytes.len())?;
    Some(found.map(|(_, bounds)| Block {
        bounds,
        counts: at..middle,
        samples: middle..end,
        unpacked,
    }))
}

fn unpacked(header: &Header, packed: &[u8], expected: usize) -> ::exr::error::Result<Vec<u8>> {
    if packed.len() == expected {
        return Ok(packed.to_vec());
    }
    coarse::lines(header.compression, packed, expected)
}

/// All channels of the pixels of a block, pixel by pixel.
fn flattened(
    bytes: &[u8],
    header: &Header,
    block: &Block,
    channels: &Channels,
    path: &Path,
) -> Result<Vec<f64>> {
    let damaged = || {
        let what = "numbers of deep samples that do not fit their data";
        Error::damaged(format!("{}: corrupt OpenEXR file: {what}", path.display()))
    };
    let (width, height) = (block.bounds.size.0, block.bounds.size.1);
    // Where a tile is cut off by the edge, OpenEXR writes numbers for all of it, those of its pixels first.
    let whole = match header.blocks {
        BlockDescription::Tiles(tiles) => tiles.tile_size.area(),
        BlockDescription::ScanLines => width * height,
    };
    let packed = &bytes[block.counts.clone()];
    let counts = unpacked(header, packed, 4 * whole)
        .or_else(|_| unpacked(header, packed, 4 * width * height))
        .map_err(|e| fault(path, e))?;
    let (words, _) = counts.as_chunks::<4>();
    let words = words.get(..width * height).ok_or_else(damaged)?;
    // Running sums along each line.
    let mut lines: Vec<Vec<usize>> = Vec::with_capacity(height);
    let mut total = 0_usize;
    for line in words.chunks_exact(width) {
        let mut before = 0;
        let mut own = Vec::with_capacity(width);
        for word in line {
            let sum = usize::try_from(i32::from_le_bytes(*word)).map_err(|_| damaged())?;
            own.push(sum.checked_sub(before).ok_or_else(damaged)?);
            before = sum;
        }
        total = total.checked_add(before).ok_or_else(damaged)?;
        lines.push(own);
    }
    if total.checked_mul(channels.bytes()) != Some(block.unpacked) {
        return Err(damaged());
    }
    let data = unpacked(header, &bytes[block.samples.clone()], block.unpacked)
        .map_err(|e| fault(path, e))?;
    let mut out = Vec::with_capacity(width * height * channels.kinds.len());
    let mut begin = 0;
    let mut pixel = Pixel::default();
    for counts in lines {
        let samples: usize = counts.iter().sum();
        // Channel after channel, each with the samples of the whole line.
        let mut starts = Vec::new();
        for kind in &channels.kinds {
            starts.push(begin);
            begin += samples * kind.bytes_per_sample();
        }
        let mut first = 0;
        for count in counts {
            pixel.clear();
            for i in first..first + count {
                pixel.push(channels, |c| {
                    let kind = channels.kinds[c];
                    let at = starts[c] + i * kind.bytes_per_sample();
                    value(&data, at, kind)
                });
            }
            first += count;
            pixel.flatten(channels, &mut out);
        }
    }
    Ok(out)
}

fn value(data: &[u8], at: usize, kind: SampleType) -> f64 {
    match kind {
        SampleType::F16 => array(data, at).map_or(0.0, |b| f16::from_le_bytes(b).to_f64()),
        SampleType::F32 => array(data, at).map_or(0.0, |b| f64::from(f32::from_le_bytes(b))),
        SampleType::U32 => array(data, at).map_or(0.0, |b| f64::from(u32::from_le_bytes(b))),
    }
}
