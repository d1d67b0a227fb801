//! Deep parts: many samples in a pixel, each at a depth. On request they are flattened while they are read: composited front to back into one.
//!
//! Samples are made tidy first, as OpenEXR's "Interpreting OpenEXR Deep Pixels" says: sorted by depth, volumes (with `ZBack` behind `Z`) split where
//! others begin or end, and volumes of one place merged; points of one place keep their order. Channels are premultiplied by `A`, without which every sample is opaque. `Z` becomes the
//! mean depth of what is visible, and whole numbers (objects) those of the sample that is seen most.

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

/// The channels of a part.
struct Channels {
    kinds: Vec<SampleType>,
    z: Option<usize>,
    back: Option<usize>,
    alpha: Option<usize>,
}

impl Channels {
    fn of(header: &Header) -> Self {
        let list = &header.channels.list;
        let named = |name: &[u8]| list.iter().position(|c| c.name.as_slice() == name);
        Self {
            kinds: list.iter().map(|c| c.sample_type).collect(),
            z: named(b"Z"),
            back: named(b"ZBack"),
            alpha: named(b"A"),
        }
    }

    /// Bytes of a sample.
    fn bytes(&self) -> usize {
        self.kinds.iter().map(|kind| kind.bytes_per_sample()).sum()
    }
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

/// A sample: from where to where, and all channels.
#[derive(Debug, Clone)]
struct Sample {
    z: f64,
    back: f64,
    alpha: f64,
    values: Vec<f64>,
}

/// The samples of a pixel.
#[derive(Default)]
struct Pixel(Vec<Sample>);

impl Pixel {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn push(&mut self, channels: &Channels, value: impl Fn(usize) -> f64) {
        let at = |channel: Option<usize>| channel.map(&value);
        let z = at(channels.z).unwrap_or(0.0);
        let back = at(channels.back).unwrap_or(z);
        let alpha = at(channels.alpha).unwrap_or(1.0);
        self.0.push(Sample {
            z,
            // What ends before it begins has no extent.
            back: if back > z { back } else { z },
            alpha: if alpha > 0.0 { alpha.min(1.0) } else { 0.0 },
            values: (0..channels.kinds.len()).map(value).collect(),
        });
    }

    /// Makes samples tidy: in order, without overlaps.
    fn tidy(&mut self, channels: &Channels) {
        let order = |s: &mut Vec<Sample>| {
            s.sort_by(|a, b| a.z.total_cmp(&b.z).then(a.back.total_cmp(&b.back)));
        };
        order(&mut self.0);
        let overlap = |pair: &[Sample]| {
            let [a, b] = pair else { return false };
            b.z < a.back
        };
        if !self.0.windows(2).any(overlap) {
            return;
        }
        let mut cuts: Vec<f64> = self.0.iter().flat_map(|s| [s.z, s.back]).collect();
        cuts.sort_by(f64::total_cmp);
        cuts.dedup();
        let mut pieces = Vec::new();
        for sample in self.0.drain(..) {
            let mut rest = sample;
            let inside = |cut: &&f64, s: &Sample| **cut > s.z && **cut < s.back;
            for cut in &cuts {
                if !inside(&cut, &rest) {
                    continue;
                }
                let share = (cut - rest.z) / (rest.back - rest.z);
                let (before, after) = rest.split(*cut, share, channels);
                pieces.push(before);
                rest = after;
            }
            pieces.push(rest);
        }
        order(&mut pieces);
        for piece in pieces {
            match self.0.last_mut() {
                Some(last) if piece.extends() && last.z == piece.z && last.back == piece.back => {
                    last.merge(&piece, channels);
                }
                _ => self.0.push(piece),
            }
        }
    }

    /// Appends all channels of the flat pixel.
    fn flatten(&mut self, channels: &Channels, out: &mut Vec<f64>) {
        if channels.z.is_some() {
            self.tidy(channels);
        }
        let first = out.len();
        out.resize(first + channels.kinds.len(), 0.0);
        let flat = &mut out[first..];
        let (mut clear, mut seen, mut most) = (1.0, 0.0, -1.0);
        for sample in &self.0 {
            let share = clear * sample.alpha;
            for (c, (to, v)) in flat.iter_mut().zip(&sample.values).enumerate() {
                if channels.kinds[c] == SampleType::U32 {
                    if share > most {
                        *to = *v;
                    }
                } else if channels.z == Some(c) {
                    // A mean so far, so that nothing is lost where depths are large.
                    if share > 0.0 {
                        *to += (v - *to) * share / (seen + share);
                    } else if seen == 0.0 && most < 0.0 {
                        *to = *v;
                    }
                } else if channels.alpha == Some(c) {
                    *to += share;
                } else {
                    *to += clear * v;
                }
            }
            most = f64::max(most, share);
            seen += share;
            clear *= 1.0 - sample.alpha;
            if clear <= 0.0 {
                break;
            }
        }
    }
}

impl Sample {
    fn extends(&self) -> bool {
        self.back > self.z
    }

    /// Both sides of a cut, the first of which has this share of the depth.
    fn split(self, at: f64, share: f64, channels: &Channels) -> (Self, Self) {
        let part = |share: f64| {
            // 1 - (1 - alpha)^share, exact for small alphas.
            let alpha = match self.alpha {
                a if a >= 1.0 => 1.0,
                a => -(share * (-a).ln_1p()).exp_m1(),
            };
            let by = match self.alpha {
                a if a > 0.0 => alpha / a,
                _ => share,
            };
            (alpha, by)
        };
        let side = |z: f64, back: f64, (alpha, by): (f64, f64)| Self {
            z,
            back,
            alpha,
            values: self.scaled(by, channels),
        };
        (
            side(self.z, at, part(share)),
            side(at, self.back, part(1.0 - share)),
        )
    }

    fn scaled(&self, by: f64, channels: &Channels) -> Vec<f64> {
        let all = self.values.iter().enumerate();
        let scale = |(c, v): (usize, &f64)| match channels.kinds[c] {
            SampleType::U32 => *v,
            _ if channels.z == Some(c) => *v,
            _ => v * by,
        };
        all.map(scale).collect()
    }

    /// Adds a sample of the same place: as if both were mixed.
    fn merge(&mut self, other: &Self, channels: &Channels) {
        let (a, b) = (self.alpha, other.alpha);
        let alpha = 1.0 - (1.0 - a) * (1.0 - b);
        let (by, other_by) = match (a >= 1.0, b >= 1.0) {
            (true, true) => (0.5, 0.5),
            (true, false) => (1.0, 0.0),
            (false, true) => (0.0, 1.0),
            (false, false) => {
                // Densities, relative to alphas.
                let [u, v] = [a, b].map(|alpha| -(-alpha).ln_1p());
                let dense = |u: f64, alpha: f64| if alpha > 0.0 { u / alpha } else { 1.0 };
                let whole = if u + v > 0.0 { alpha / (u + v) } else { 1.0 };
                (dense(u, a) * whole, dense(v, b) * whole)
            }
        };
        for (c, (to, from)) in self.values.iter_mut().zip(&other.values).enumerate() {
            let whole = channels.kinds[c] == SampleType::U32;
            if whole {
                if b > a {
                    *to = *from;
                }
            } else if channels.z != Some(c) {
                *to = by * *to + other_by * from;
            }
        }
        self.alpha = alpha;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `A`, `R`, `Z`, `ZBack`, as files sort them.
    fn channels() -> Channels {
        Channels {
            kinds: vec![SampleType::F32; 4],
            alpha: Some(0),
            z: Some(2),
            back: Some(3),
        }
    }

    fn flat(samples: &[[f64; 4]]) -> Vec<f64> {
        let mut pixel = Pixel::default();
        for sample in samples {
            pixel.push(&channels(), |c| sample[c]);
        }
        let mut out = Vec::new();
        pixel.flatten(&channels(), &mut out);
        out
    }

    fn near(made: &[f64], wanted: &[f64]) {
        for (a, b) in made.iter().zip(wanted) {
            assert!((a - b).abs() < 1e-12, "{made:?}, not {wanted:?}");
        }
    }

    #[test]
    fn points_are_composited_front_to_back() {
        let (far, near_) = ([1.0, 0.8, 9.0, 9.0], [0.25, 0.1, 2.0, 2.0]);
        let wanted = [1.0, 0.1 + 0.75 * 0.8, 0.25 * 2.0 + 0.75 * 9.0];
        near(&flat(&[far, near_]), &wanted);
        near(&flat(&[near_, far]), &wanted);
        near(&flat(&[near_, far, [1.0, 7.0, 10.0, 10.0]]), &wanted);
        near(&flat(&[]), &[0.0, 0.0, 0.0]);
        near(&flat(&[[0.0, 0.5, 3.0, 3.0]]), &[0.0, 0.5, 3.0]);
    }

    /// A volume is as dense as its halves, and what is inside it is seen through the half before it.
    #[test]
    fn volumes_are_split_where_others_are() {
        let fog = [0.75, 0.3, 2.0, 4.0];
        let half = [0.5, 0.3 * 0.5 / 0.75];
        let wall = [1.0, 0.6, 3.0, 3.0];
        let made = flat(&[fog, wall]);
        near(&made[..2], &[1.0, half[1] + 0.5 * 0.6]);
        let made = flat(&[fog, [0.0, 0.0, 3.0, 3.0]]);
        near(&made[..2], &fog[..2]);
    }

    /// Two volumes of one place are one of both, in any order.
    #[test]
    fn volumes_of_one_place_are_mixed() {
        let (a, b) = ([0.5, 0.4, 1.0, 2.0], [0.5, 0.1, 1.0, 2.0]);
        let made = flat(&[a, b]);
        near(&made[..2], &[0.75, 0.75 * 0.5 * (0.8 + 0.2)]);
        near(&flat(&[b, a])[..2], &made[..2]);
        // Opaque ones are seen as their mean.
        near(
            &flat(&[[1.0, 0.2, 1.0, 2.0], [1.0, 0.4, 1.0, 2.0]])[..2],
            &[1.0, 0.3],
        );
    }
}
