//! HTJ2K, the compression of OpenEXR 3.4: High-Throughput JPEG 2000, without loss.
//!
//! A block of pixels is a short header, which says which channel each component is, and a code-stream: samples become whole numbers, red,
//! green and blue are decorrelated, the reversible 5/3 wavelet splits each channel into sub-bands, and the block coder stores them.
//!
//! | file | content |
//! |---|---|
//! | `stream` | the header of a code-stream |
//! | `layout`, `packets` | where the code-blocks are, in a channel and in the file |
//! | `wavelet` | the transform |
//! | `block` | the block coder |
//! | `planes` | samples as whole numbers, and the order of channels |
//!
//! Everything is checked against the size of the block of pixels before memory is allocated, and damaged data is an error.

mod block;
mod layout;
mod packets;
mod planes;
mod stream;
mod wavelet;

use self::block::{Decoder, Encoder, Place};
use self::packets::Coded;
use self::planes::{Channel, Planes, components};
use self::stream::{Component, Stream};
pub(super) use self::wavelet::Pool;
use self::wavelet::{Plane, Whole};
use ::exr::error::Error as ExrError;
use ::exr::meta::attribute::IntegerBounds;
use ::exr::meta::header::Header;
use limpid_core::simd::{best, dispatch};
use rayon::prelude::*;

/// Data that does not follow the format.
#[derive(Debug)]
struct Damage;

/// Why a block of pixels cannot be read.
#[derive(Debug)]
enum Fault {
    Damaged,
    Unsupported(&'static str),
}

impl From<Damage> for Fault {
    fn from(_: Damage) -> Self {
        Self::Damaged
    }
}

impl From<Fault> for ExrError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Damaged => Self::Invalid("HTJ2K data".into()),
            Fault::Unsupported(what) => Self::NotSupported(format!("HTJ2K with {what}").into()),
        }
    }
}

/// Two bytes that begin a block of pixels.
const MAGIC: [u8; 2] = *b"HT";

/// Levels of the wavelet, and logarithms of the sizes of code-blocks, as OpenEXR writes them.
const LEVELS: usize = 5;
const BLOCK: (u32, u32) = (7, 5);

/// Whether data says that it holds a block of this size, before memory is allocated for the pixels.
pub(super) fn is_of_size(packed: &[u8], count: usize, bounds: &IntegerBounds) -> bool {
    let stream = map(packed, count)
        .ok()
        .and_then(|(_, code)| Stream::header(code).ok());
    stream
        .is_some_and(|(stream, _)| (stream.width, stream.height) == (bounds.size.0, bounds.size.1))
}

/// Reads a block of pixels: the samples line by line, channel by channel, as the machine holds them.
pub(super) fn decompress(
    header: &Header,
    packed: &[u8],
    bounds: &IntegerBounds,
    pool: &Pool,
) -> ::exr::error::Result<Vec<u8>> {
    Ok(read(
        &planes::channels(header, bounds),
        packed,
        bounds,
        pool,
    )?)
}

/// Writes a block of pixels.
pub(super) fn compress(
    header: &Header,
    raw: &[u8],
    bounds: &IntegerBounds,
    pool: &Pool,
) -> Vec<u8> {
    write(&planes::channels(header, bounds), raw, bounds, pool)
}

fn read(
    channels: &[Channel],
    packed: &[u8],
    bounds: &IntegerBounds,
    pool: &Pool,
) -> Result<Vec<u8>, Fault> {
    let (order, code) = map(packed, channels.len())?;
    let (stream, data) = Stream::read(code)?;
    if (stream.width, stream.height) != (bounds.size.0, bounds.size.1)
        || stream.components.len() != channels.len()
    {
        return Err(Damage.into());
    }
    for (i, (component, &channel)) in stream.components.iter().zip(&order).enumerate() {
        let channel = &channels[channel];
        let size = (channel.width, channel.height);
        if layout::size(&stream, i) != size || component.bits != channel.bits() {
            return Err(Damage.into());
        }
    }
    let packets = layout::packets(&stream);
    let coded = packets::read(&data, &packets, stream.marked)?;
    // The blocks of each component, with their sub-bands.
    let mut blocks: Vec<Vec<(usize, layout::Block, Coded)>> = vec![Vec::new(); channels.len()];
    for (packet, coded) in packets.iter().zip(coded) {
        for (part, coded) in packet.parts.iter().zip(coded) {
            let pairs = part.blocks.iter().zip(coded);
            let found = pairs.filter_map(|(block, coded)| Some((part.band, *block, coded?)));
            blocks[packet.component].extend(found);
        }
    }
    let decoded = blocks.par_iter().enumerate().map(|(i, blocks)| {
        Ok(match stream.components[i].bits {
            16 => Planes::Small(component(&stream, i, blocks, &data, pool)?),
            _ => Planes::Large(component(&stream, i, blocks, &data, pool)?),
        })
    });
    let mut decoded: Vec<Planes> = decoded.collect::<Result<_, Damage>>()?;
    let size = |c: &Channel| c.width * c.height * c.kind.bytes_per_sample();
    let raw = pool.bytes(channels.iter().map(size).sum());
    let raw = planes::samples(&mut decoded, &stream, channels, &order, bounds, raw)?;
    decoded.into_iter().for_each(|plane| plane.give(pool));
    Ok(raw)
}

/// The header of a block of pixels: the channel of each component, and the code-stream.
fn map(packed: &[u8], count: usize) -> Result<(Vec<usize>, &[u8]), Damage> {
    let (head, rest) = packed.split_first_chunk::<6>().ok_or(Damage)?;
    let [m0, m1, length @ ..] = *head;
    let length = u32::from_be_bytes(length) as usize;
    let (payload, code) = rest.split_at_checked(length).ok_or(Damage)?;
    let (words, _) = payload.as_chunks::<2>();
    let mut words = words.iter().map(|w| usize::from(u16::from_be_bytes(*w)));
    if [m0, m1] != MAGIC || words.next() != Some(count) {
        return Err(Damage);
    }
    let order: Vec<usize> = words.take(count).collect();
    let mut seen = vec![false; count];
    for &channel in &order {
        let seen = seen.get_mut(channel).ok_or(Damage)?;
        if std::mem::replace(seen, true) {
            return Err(Damage);
        }
    }
    match order.len() == count {
        true => Ok((order, code)),
        false => Err(Damage),
    }
}

/// Decodes a component, at the SIMD level of this machine.
fn component<T: Whole>(
    stream: &Stream,
    index: usize,
    blocks: &[(usize, layout::Block, Coded)],
    data: &[u8],
    pool: &Pool,
) -> Result<Plane<T>, Damage> {
    dispatch!(best(), _simd => decode(stream, index, blocks, data, pool))
}

#[inline(always)]
fn decode<T: Whole>(
    stream: &Stream,
    index: usize,
    blocks: &[(usize, layout::Block, Coded)],
    data: &[u8],
    pool: &Pool,
) -> Result<Plane<T>, Damage> {
    let sizes = layout::bands(stream, index);
    let (width, height) = layout::size(stream, index);
    let spare = T::spare(pool);
    let mut memory = spare.take(width * height);
    let mut bands = wavelet::cut(&mut memory, &sizes);
    // Blocks that are not there are zero.
    let there: usize = blocks.iter().map(|(_, b, _)| b.width * b.height).sum();
    if there < width * height {
        bands.iter_mut().for_each(|band| band.fill(T::default()));
    }
    let mut decoder = Decoder::<T>::default();
    for (band, block, coded) in blocks {
        let planes = stream.components[index].planes[*band];
        let stride = sizes[*band].0;
        let begin = block.y * stride + block.x;
        let end = begin + (block.height - 1) * stride + block.width;
        let place = Place {
            width: block.width,
            stride,
            planes: coded.missing + 1,
            shift: planes.checked_sub(coded.missing + 1).ok_or(Damage)?,
        };
        if planes > T::PLANES {
            return Err(Damage);
        }
        let rows = &mut bands[*band][begin..end];
        decoder.decode(&data[coded.range.clone()], rows, place)?;
    }
    if stream.levels == 0 {
        return Ok(Plane {
            width,
            height,
            data: memory,
        });
    }
    let mut bands = bands.into_iter();
    let mut size = sizes[0];
    let (mut plane, mut next) = (Vec::new(), Vec::new());
    let ll = bands.next().ok_or(Damage)?;
    for (level, high) in sizes[1..].chunks_exact(3).enumerate() {
        // Each level is joined in the memory of the one before the last.
        std::mem::swap(&mut plane, &mut next);
        size = (size.0 + high[0].0, size.1 + high[1].1);
        if plane.len() < size.0 * size.1 {
            let left = stream.levels - 1 - level;
            let count = if left.is_multiple_of(2) {
                width * height
            } else {
                width.div_ceil(2) * height.div_ceil(2)
            };
            plane = spare.take(count);
        }
        let (Some(hl), Some(lh), Some(hh)) = (bands.next(), bands.next(), bands.next()) else {
            return Err(Damage);
        };
        let low = if level == 0 { &mut *ll } else { &mut next[..] };
        wavelet::join([low, hl, lh, hh], size, &mut plane);
    }
    spare.give(next);
    spare.give(memory);
    Ok(Plane {
        width,
        height,
        data: plane,
    })
}

fn write(channels: &[Channel], raw: &[u8], bounds: &IntegerBounds, pool: &Pool) -> Vec<u8> {
    let (order, color) = planes::order(channels);
    let mut stream = Stream {
        width: bounds.size.0,
        height: bounds.size.1,
        components: components(channels, &order),
        color,
        levels: LEVELS,
        block: BLOCK,
        precincts: vec![(15, 15); LEVELS + 1],
        order: 2,
        marked: false,
    };
    for (i, component) in stream.components.iter_mut().enumerate() {
        component.planes = bit_planes(component, color && i < 3);
    }
    let mut all = planes::numbers(raw, channels, &order, bounds, pool);
    if color {
        planes::decorrelate(&mut all);
    }
    let packets = layout::packets(&stream);
    // The blocks of each packet of a component, in order.
    let blocks: Vec<Vec<Vec<Vec<Vec<u8>>>>> = all
        .into_par_iter()
        .enumerate()
        .map(|(i, plane)| {
            let mine = packets.iter().filter(|p| p.component == i);
            let sizes = layout::bands(&stream, i);
            match plane {
                Planes::Small(plane) => encode(plane, &sizes, mine, pool),
                Planes::Large(plane) => encode(plane, &sizes, mine, pool),
            }
        })
        .collect();
    let mut blocks: Vec<_> = blocks.into_iter().map(Vec::into_iter).collect();
    let mut out = Vec::with_capacity(raw.len());
    out.extend(MAGIC);
    out.extend((2 * order.len() as u32 + 2).to_be_bytes());
    out.extend((order.len() as u16).to_be_bytes());
    out.extend(order.iter().flat_map(|c| (*c as u16).to_be_bytes()));
    stream.write(&mut out, |out| {
        for packet in &packets {
            let planes = &stream.components[packet.component].planes;
            let missing: Vec<u32> = packet.parts.iter().map(|p| planes[p.band] - 1).collect();
            let blocks = blocks[packet.component].next().unwrap_or_default();
            packets::write(packet, &blocks, &missing, out);
        }
    });
    out
}

/// The bit planes that the sub-bands of a component need: the transform enlarges numbers by the sums of its filters' weights, less than
/// 1.71 for low and 2.83 for high frequencies.
fn bit_planes(component: &Component, color: bool) -> Vec<u32> {
    let bits = component.bits + u32::from(color);
    let fine = 3 * LEVELS - 2;
    (0..=3 * LEVELS)
        .map(|band| bits + if (1..fine).contains(&band) { 2 } else { 1 })
        .collect()
}

/// Splits a component and encodes its blocks, at the SIMD level of this machine.
fn encode<'a, T: Whole>(
    plane: Plane<T>,
    sizes: &[(usize, usize)],
    packets: impl Iterator<Item = &'a layout::Packet>,
    pool: &Pool,
) -> Vec<Vec<Vec<Vec<u8>>>> {
    dispatch!(best(), _simd => encoded(plane, sizes, packets, pool))
}

#[inline(always)]
fn encoded<'a, T: Whole>(
    plane: Plane<T>,
    sizes: &[(usize, usize)],
    packets: impl Iterator<Item = &'a layout::Packet>,
    pool: &Pool,
) -> Vec<Vec<Vec<Vec<u8>>>> {
    let spare = T::spare(pool);
    let mut memory = spare.take(plane.width * plane.height);
    let mut bands = wavelet::cut(&mut memory, sizes);
    let mut next = spare.take(plane.width.div_ceil(2) * plane.height.div_ceil(2));
    let (mut from, mut size) = (plane.data, (plane.width, plane.height));
    for level in (0..LEVELS).rev() {
        let (low, high) = bands.split_at_mut(3 * level + 1);
        let [hl, lh, hh, ..] = high else { break };
        // The last one is a band.
        let ll = if level == 0 {
            &mut *low[0]
        } else {
            &mut next[..]
        };
        wavelet::split(&mut from, size, [ll, hl, lh, hh]);
        size = (size.0.div_ceil(2), size.1.div_ceil(2));
        std::mem::swap(&mut from, &mut next);
    }
    let mut encoder = Encoder::<T>::default();
    let mut all = Vec::new();
    // Loops instead of iterators: closures would not be compiled for the SIMD level.
    for packet in packets {
        let mut parts = Vec::with_capacity(packet.parts.len());
        for part in &packet.parts {
            let (band, stride) = (&bands[part.band], sizes[part.band].0);
            let mut blocks = Vec::with_capacity(part.blocks.len());
            for block in &part.blocks {
                let begin = block.y * stride + block.x;
                let end = begin + (block.height - 1) * stride + block.width;
                let mut out = Vec::new();
                encoder.encode(&band[begin..end], (block.width, stride), &mut out);
                blocks.push(out);
            }
            parts.push(blocks);
        }
        all.push(parts);
    }
    for memory in [memory, from, next] {
        spare.give(memory);
    }
    all
}

#[cfg(test)]
mod tests;
