//! Decompression of blocks whose chroma has half the resolution, which the `exr` crate does not expect.
//!
//! Deflate and run lengths do not know channels, so that a block can pass for one of a single channel. B44 stores channel after channel,
//! which are decoded one by one. PIZ and PXR24 of the `exr` crate read such blocks as soon as the expected length is right.

use super::blocks::{raw_size, rows, sampled};
use ::exr::compression::Compression;
use ::exr::error::{Error, Result};
use ::exr::math::Vec2;
use ::exr::meta::BlockDescription;
use ::exr::meta::attribute::{
    ChannelDescription, ChannelList, IntegerBounds, LineOrder, SampleType,
};
use ::exr::meta::header::Header;

/// Decompresses a block.
pub(super) fn decompress(header: &Header, packed: &[u8], bounds: IntegerBounds) -> Result<Vec<u8>> {
    if cfg!(target_endian = "big") {
        return Err(Error::NotSupported(
            "sub-sampled channels on this machine".into(),
        ));
    }
    let expected = raw_size(header, &bounds);
    if packed.len() == expected {
        return Ok(packed.to_vec());
    }
    match header.compression {
        Compression::RLE | Compression::ZIP1 | Compression::ZIP16 => {
            // Samples of two bytes: every type has a multiple of them.
            let channel = ChannelDescription::named("Y", SampleType::F16);
            plain(channel, (expected / 2, 1), header.compression, packed)
        }
        Compression::PIZ | Compression::PXR24 => {
            let mut header = header.clone();
            let area = bounds.size.area();
            if !expected.is_multiple_of(area) {
                return Err(Error::NotSupported(
                    "these sample types with sub-sampling".into(),
                ));
            }
            header.channels.bytes_per_pixel = expected / area;
            header.compression.decompress_image_section_from_le(
                &header,
                packed.to_vec(),
                bounds,
                false,
            )
        }
        Compression::B44 | Compression::B44A => b44(header, packed, bounds),
        other => Err(Error::NotSupported(
            format!("sub-sampling with {other}").into(),
        )),
    }
}

/// Decompresses bytes, for which channels do not matter.
pub(super) fn lines(compression: Compression, packed: &[u8], expected: usize) -> Result<Vec<u8>> {
    if cfg!(target_endian = "big") {
        return Err(Error::NotSupported("deep samples on this machine".into()));
    }
    if expected == 0 || !expected.is_multiple_of(2) || expected > 1 << 30 {
        return Err(Error::Invalid("length of a block of pixels".into()));
    }
    // Samples of two bytes: every type has a multiple of them.
    let channel = ChannelDescription::named("Y", SampleType::F16);
    plain(channel, (expected / 2, 1), compression, packed)
}

/// Decompresses a block of one channel.
fn plain(
    channel: ChannelDescription,
    (width, height): (usize, usize),
    compression: Compression,
    packed: &[u8],
) -> Result<Vec<u8>> {
    let mut header = Header::new("".into(), (width, height), Default::default());
    header.channels = ChannelList::new(vec![channel].into());
    let header = header.with_encoding(
        compression,
        BlockDescription::ScanLines,
        LineOrder::Increasing,
    );
    let bounds = IntegerBounds {
        position: Vec2(0, 0),
        size: Vec2(width, height),
    };
    compression.decompress_image_section_from_le(&header, packed.to_vec(), bounds, false)
}

fn b44(header: &Header, packed: &[u8], bounds: IntegerBounds) -> Result<Vec<u8>> {
    let wrong = || Error::Invalid("B44 data".into());
    let corner = header.own_attributes.layer_position;
    let mut out = vec![0; raw_size(header, &bounds)];
    let mut rest = packed;
    for (i, channel) in header.channels.list.iter().enumerate() {
        let across = (corner.0, bounds.position.0, bounds.size.0);
        let down = (corner.1, bounds.position.1, bounds.size.1);
        let (_, width) = sampled(across, channel.sampling.0);
        let (_, height) = sampled(down, channel.sampling.1);
        let bytes = width * channel.sample_type.bytes_per_sample();
        let (length, compression) = match channel.sample_type {
            SampleType::F16 => {
                // Squares of 4x4 take 14 bytes, or 3 where all samples are the same.
                let mut length = 0;
                for _ in 0..width.div_ceil(4) * height.div_ceil(4) {
                    let mark = rest.get(length + 2).ok_or_else(wrong)?;
                    length += if *mark >= 13 << 2 { 3 } else { 14 };
                }
                (length, header.compression)
            }
            _ => (bytes * height, Compression::Uncompressed),
        };
        let (mine, after) = rest.split_at_checked(length).ok_or_else(wrong)?;
        rest = after;
        if compression != Compression::Uncompressed && length == bytes * height {
            return Err(Error::NotSupported(
                "a block that is as long as its samples".into(),
            ));
        }
        let samples = match compression {
            Compression::Uncompressed => mine.to_vec(),
            _ => {
                let mut channel = channel.clone();
                channel.sampling = Vec2(1, 1);
                plain(channel, (width, height), compression, mine)?
            }
        };
        for (line, at) in samples.chunks(bytes.max(1)).zip(rows(header, &bounds, i)) {
            out[at..at + line.len()].copy_from_slice(line);
        }
    }
    Ok(out)
}
