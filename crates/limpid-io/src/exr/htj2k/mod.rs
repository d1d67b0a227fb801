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
) -> ::exr::error::Result<Vec<u8>> {
    Ok(read(&planes::channels(header, bounds), packed, bounds)?)
}

/// Writes a block of pixels.
pub(super) fn compress(header: &Header, raw: &[u8], bounds: &IntegerBounds) -> Vec<u8> {
    write(&planes::channels(header, bounds), raw, bounds)
}

fn read(channels: &[Channel], packed: &[u8], bounds: &IntegerBounds) -> Result<Vec<u8>, Fault> {
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
            16 => Planes::Small(component(&stream, i, blocks, &data)?),
            _ => Planes::Large(component(&stream, i, blocks, &data)?),
        })
    });
    let mut decoded: Vec<Planes> = decoded.collect::<Result<_, Damage>>()?;
    if stream.color {
        planes::recorrelate(&mut decoded)?;
    }
    Ok(planes::samples(
        &decoded,
        &stream.components,
        channels,
        &order,
        bounds,
    ))
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
) -> Result<Plane<T>, Damage> {
    dispatch!(best(), _simd => decode(stream, index, blocks, data))
}

#[inline(always)]
fn decode<T: Whole>(
    stream: &Stream,
    index: usize,
    blocks: &[(usize, layout::Block, Coded)],
    data: &[u8],
) -> Result<Plane<T>, Damage> {
    let sizes = layout::bands(stream, index);
    let mut bands: Vec<Plane<T>> = sizes.into_iter().map(|(w, h)| Plane::new(w, h)).collect();
    let mut decoder = Decoder::<T>::default();
    for (band, block, coded) in blocks {
        let planes = stream.components[index].planes[*band];
        let stride = bands[*band].width;
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
        let rows = &mut bands[*band].data[begin..end];
        decoder.decode(&data[coded.range.clone()], rows, place)?;
    }
    let mut bands = bands.into_iter();
    let mut plane = bands.next().ok_or(Damage)?;
    while let (Some(hl), Some(lh), Some(hh)) = (bands.next(), bands.next(), bands.next()) {
        plane = wavelet::join([plane, hl, lh, hh]);
    }
    Ok(plane)
}

fn write(channels: &[Channel], raw: &[u8], bounds: &IntegerBounds) -> Vec<u8> {
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
    let mut all = planes::numbers(raw, channels, &order, bounds);
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
            match plane {
                Planes::Small(plane) => encode(plane, mine),
                Planes::Large(plane) => encode(plane, mine),
            }
        })
        .collect();
    let mut blocks: Vec<_> = blocks.into_iter().map(Vec::into_iter).collect();
    let mut data = Vec::new();
    for packet in &packets {
        let planes = &stream.components[packet.component].planes;
        let missing: Vec<u32> = packet.parts.iter().map(|p| planes[p.band] - 1).collect();
        let blocks = blocks[packet.component].next().unwrap_or_default();
        packets::write(packet, &blocks, &missing, &mut data);
    }
    let mut out = MAGIC.to_vec();
    out.extend((2 * order.len() as u32 + 2).to_be_bytes());
    out.extend((order.len() as u16).to_be_bytes());
    out.extend(order.iter().flat_map(|c| (*c as u16).to_be_bytes()));
    out.extend(stream.write(&data));
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
    packets: impl Iterator<Item = &'a layout::Packet>,
) -> Vec<Vec<Vec<Vec<u8>>>> {
    dispatch!(best(), _simd => encoded(plane, packets))
}

#[inline(always)]
fn encoded<'a, T: Whole>(
    mut plane: Plane<T>,
    packets: impl Iterator<Item = &'a layout::Packet>,
) -> Vec<Vec<Vec<Vec<u8>>>> {
    let mut bands = Vec::new();
    for _ in 0..LEVELS {
        let [ll, hl, lh, hh] = wavelet::split(plane);
        bands.extend([hh, lh, hl]);
        plane = ll;
    }
    bands.push(plane);
    bands.reverse();
    let mut encoder = Encoder::<T>::default();
    let mut all = Vec::new();
    // Loops instead of iterators: closures would not be compiled for the SIMD level.
    for packet in packets {
        let mut parts = Vec::with_capacity(packet.parts.len());
        for part in &packet.parts {
            let band = &bands[part.band];
            let mut blocks = Vec::with_capacity(part.blocks.len());
            for block in &part.blocks {
                let begin = block.y * band.width + block.x;
                let end = begin + (block.height - 1) * band.width + block.width;
                let mut out = Vec::new();
                encoder.encode(&band.data[begin..end], (block.width, band.width), &mut out);
                blocks.push(out);
            }
            parts.push(blocks);
        }
        all.push(parts);
    }
    all
}

#[cfg(test)]
mod tests;
