//! Writing an EXR file: samples, blocks and file, each on all cores.
//!
//! With the [`Source`] of a frame, everything that the frame does not change is written unchanged. Without one, a new file with
//! canonical names is created. The output is deterministic: attributes are sorted by name.

use super::assign::Mapped;
use super::{EVERY, PartSource, Samples, Source, fault, htj2k, size_of};
use crate::names;
use crate::{Compression, Sample, WriteOptions};
use ::exr::compression::Compression as ExrCompression;
use ::exr::meta::attribute::{
    self, AttributeValue, ChannelDescription, ChannelList, IntegerBounds, LevelMode, LineOrder,
    SampleType, Text, TileDescription,
};
use ::exr::meta::header::{Header, LayerAttributes};
use ::exr::meta::{BlockDescription, MetaData};
use ::exr::prelude::SmallVec;
use limpid_core::{Error, Frame, Image, Layer, Result, luminance};
use rayon::prelude::*;
use std::borrow::Cow;
use std::path::Path;

/// A part that is ready to be written.
struct Part<'a> {
    header: Header,
    samples: Vec<Cow<'a, Samples>>,
}

/// Encodes a frame, with notes on data that could not be preserved.
pub(crate) fn bytes(
    frame: &Frame,
    origin: Option<(&Source, &[Mapped])>,
    options: &WriteOptions,
    path: &Path,
) -> Result<(Vec<u8>, Vec<String>)> {
    let mut notes = Vec::new();
    let same_size = |(source, layers): &(&Source, &[Mapped])| {
        let first = layers.first();
        first.is_none_or(|m| size_of(&source.parts[m.part].header) == frame.size())
    };
    let mut parts = match origin {
        Some((source, layers)) if same_size(&(source, layers)) => {
            changed(frame, source, layers, options)
        }
        Some((source, layers)) => {
            notes.push(format!(
                "the size changed to {}; other layers and the windows of the source are not preserved",
                frame.size()
            ));
            let mut part = fresh(frame, options);
            let from = layers.first().map_or(0, |m| m.part);
            part.header.own_attributes = LayerAttributes {
                layer_position: part.header.own_attributes.layer_position,
                ..source.parts[from].header.own_attributes.clone()
            };
            vec![part]
        }
        None => vec![fresh(frame, options)],
    };
    for part in &mut parts {
        prepare(part, options);
        part.header.own_attributes.other.remove(&name(EVERY));
    }
    let every = (frame.sample_spacing() > 1)
        .then(|| (EVERY.to_owned(), frame.sample_spacing().to_string()));
    if let Some(first) = parts.first_mut() {
        for (key, value) in options.texts.iter().chain(&every) {
            let value = AttributeValue::Text(name(value));
            let own = &mut first.header.own_attributes;
            own.other.insert(name(key), value);
        }
    }
    notes.extend(recompressed(&parts));
    let file = assemble(&parts).map_err(|e| fault(path, e))?;
    Ok((file, notes))
}

/// A note if channels that did not change are compressed again with loss.
fn recompressed(parts: &[Part<'_>]) -> Option<String> {
    let changes = |part: &&Part<'_>| {
        let channels = &part.header.channels.list;
        let mut pairs = channels.iter().zip(&part.samples);
        pairs.any(|(channel, samples)| {
            matches!(samples, Cow::Borrowed(_)) && is_lossy(channel, part.header.compression)
        })
    };
    let method = method_name(parts.iter().find(changes)?);
    Some(format!(
        "{method} compression loses precision: other layers, which are kept, are compressed again and change slightly"
    ))
}

/// Whether a compression changes the samples of a channel.
fn is_lossy(channel: &ChannelDescription, compression: ExrCompression) -> bool {
    match compression {
        // Names decide: colour is lossy, vectors are where a component is called Y.
        ExrCompression::DWAA(_) | ExrCompression::DWAB(_) => {
            let name = channel.name.to_string();
            let last = name.rsplit('.').next().unwrap_or_default();
            channel.sample_type != SampleType::U32
                && ["R", "G", "B", "Y", "BY", "RY"].contains(&last)
        }
        ExrCompression::B44 | ExrCompression::B44A => channel.sample_type == SampleType::F16,
        ExrCompression::PXR24 => channel.sample_type == SampleType::F32,
        _ => false,
    }
}

/// The name of a lossy compression.
fn method_name(part: &Part<'_>) -> &'static str {
    match part.header.compression {
        ExrCompression::DWAA(_) => "DWAA",
        ExrCompression::DWAB(_) => "DWAB",
        ExrCompression::B44 => "B44",
        ExrCompression::PXR24 => "PXR24",
        _ => "B44A",
    }
}

fn name(text: &str) -> Text {
    Text::from_bytes_unchecked(SmallVec::from_slice(text.as_bytes()))
}

/// A new part with all layers under canonical names.
fn fresh<'a>(frame: &Frame, options: &WriteOptions) -> Part<'a> {
    let size = frame.size();
    let mut header = Header::new(
        Text::from("limpid"),
        (size.width, size.height),
        SmallVec::new(),
    );
    header.own_attributes = LayerAttributes {
        software_name: Some(Text::from("limpid")),
        ..LayerAttributes::default()
    };
    header = header.with_encoding(
        ExrCompression::ZIP16,
        BlockDescription::ScanLines,
        LineOrder::Increasing,
    );
    let mut part = Part {
        header,
        samples: Vec::new(),
    };
    for (layer, image) in frame.layers() {
        add_layer(&mut part, layer, image, options);
    }
    part
}

/// The parts of the source, with the layers of the frame inserted.
fn changed<'a>(
    frame: &Frame,
    source: &'a Source,
    layers: &[Mapped],
    options: &WriteOptions,
) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = source
        .parts
        .iter()
        .map(|PartSource { header, samples }| Part {
            header: header.clone(),
            samples: samples.iter().map(Cow::Borrowed).collect(),
        })
        .collect();
    // If the colour's channels hold the first of two buffers, they keep it as long as the frame does.
    let first = |m: &&Mapped| m.derived && m.layer.part == limpid_core::Part::HalfA;
    let buffers = layers
        .iter()
        .find(first)
        .is_some_and(|m| frame.get(m.layer.clone()).is_some());
    for (layer, image) in frame.layers() {
        // A colour that the file contains twice is written twice.
        let mut homes = layers.iter().filter(|m| m.layer == *layer).peekable();
        if homes.peek().is_none() {
            let part = layers.first().map_or(0, |m| m.part);
            add_layer(&mut parts[part], layer, image, options);
        }
        for mapped in homes {
            // The mean of two buffers, its variance, and layers that are written with the owner of their channels.
            let elsewhere = (buffers && of_mean(mapped)) || (mapped.derived && !first(&mapped));
            if elsewhere {
                continue;
            }
            let image = with_channels(image, mapped.channels.len());
            let encoded: Vec<Samples> = (0..mapped.channels.len())
                .into_par_iter()
                .map(|c| source.encode(mapped, c, image.plane(c)))
                .collect();
            for (&channel, samples) in mapped.channels.iter().zip(encoded) {
                parts[mapped.part].samples[channel] = Cow::Owned(samples);
            }
        }
    }
    for stale in layers.iter().filter(|m| is_stale(m, frame)) {
        let names: Vec<Text> = stale
            .channels
            .iter()
            .map(|c| {
                source.parts[stale.part].header.channels.list[*c]
                    .name
                    .clone()
            })
            .collect();
        remove(&mut parts[stale.part], &names);
    }
    parts
}

/// Whether a layer belongs to the mean of two buffers, which the file does not contain.
fn of_mean(mapped: &Mapped) -> bool {
    let parts = [limpid_core::Part::Mean, limpid_core::Part::Variance];
    mapped.layer.kind == limpid_core::Kind::Color && parts.contains(&mapped.layer.part)
}

/// Whether halves and variances of a layer are outdated because it was recomputed.
fn is_stale(mapped: &Mapped, frame: &Frame) -> bool {
    let Layer { kind, part } = &mapped.layer;
    let kept = frame.get(mapped.layer.clone()).is_some();
    *part != limpid_core::Part::Mean
        && !mapped.derived
        && !kept
        && frame.get(kind.clone()).is_some()
}

/// Removes channels from a part.
fn remove(part: &mut Part<'_>, names: &[Text]) {
    let mut list = part.header.channels.list.to_vec();
    for name in names {
        if let Some(at) = list.iter().position(|c| c.name == *name) {
            list.remove(at);
            part.samples.remove(at);
        }
    }
    part.header.channels = ChannelList::new(list.into());
}

/// An image with a different number of channels: grey for colour, or vice versa.
fn with_channels(image: &Image, channels: usize) -> Cow<'_, Image> {
    let (width, height) = (image.width(), image.height());
    match (image.channels(), channels) {
        (3, 1) => Cow::Owned(Image::from_fn(width, height, 1, |x, y, _| {
            luminance([0, 1, 2].map(|c| image.get(x, y, c)))
        })),
        (1, 3) => Cow::Owned(Image::from_fn(width, height, 3, |x, y, _| {
            image.get(x, y, 0)
        })),
        _ => Cow::Borrowed(image),
    }
}

/// Adds a layer under its canonical names. Channels stay sorted by name, as the format requires.
fn add_layer(part: &mut Part<'_>, layer: &Layer, image: &Image, options: &WriteOptions) {
    let kind = match options.sample {
        Some(Sample::Half) => SampleType::F16,
        Some(Sample::Float) | None => SampleType::F32,
    };
    let mut list = part.header.channels.list.to_vec();
    for (channel, plane) in names::canonical(layer, image.channels())
        .iter()
        .zip(image.planes())
    {
        let name = name(channel);
        let samples = Cow::Owned(Samples::from_f32(plane, kind));
        match list.binary_search_by(|c| c.name.as_slice().cmp(name.as_slice())) {
            Ok(at) => {
                list[at].sample_type = kind;
                part.samples[at] = samples;
            }
            Err(at) => {
                let linear = ChannelDescription::guess_quantization_linearity(&name);
                list.insert(at, ChannelDescription::new(name, kind, linear));
                part.samples.insert(at, samples);
            }
        }
    }
    part.header.channels = ChannelList::new(list.into());
}

/// Chooses compression, tiles and sample types.
fn prepare(part: &mut Part<'_>, options: &WriteOptions) {
    let header = &mut part.header;
    let compression = match options.compression {
        Some(Compression::None) => ExrCompression::Uncompressed,
        Some(Compression::Rle) => ExrCompression::RLE,
        Some(Compression::Zips) => ExrCompression::ZIP1,
        Some(Compression::Zip) => ExrCompression::ZIP16,
        Some(Compression::Piz) => ExrCompression::PIZ,
        Some(Compression::Pxr24) => ExrCompression::PXR24,
        Some(Compression::B44) => ExrCompression::B44,
        Some(Compression::B44a) => ExrCompression::B44A,
        Some(Compression::Dwaa) => ExrCompression::DWAA(None),
        Some(Compression::Dwab) => ExrCompression::DWAB(None),
        Some(Compression::Htj2k) => ExrCompression::HTJ2K256,
        Some(Compression::Htj2k32) => ExrCompression::HTJ2K32,
        None => header.compression,
    };
    let blocks = match header.blocks {
        BlockDescription::Tiles(tiles) => BlockDescription::Tiles(TileDescription {
            level_mode: LevelMode::Singular,
            ..tiles
        }),
        BlockDescription::ScanLines => BlockDescription::ScanLines,
    };
    let line_order = match header.line_order {
        // Blocks are written from top to bottom.
        LineOrder::Decreasing | LineOrder::Unspecified => LineOrder::Increasing,
        order @ LineOrder::Increasing => order,
    };
    *header = header
        .clone()
        .with_encoding(compression, blocks, line_order);
    if let Some(sample) = options.sample {
        let kind = match sample {
            Sample::Half => SampleType::F16,
            Sample::Float => SampleType::F32,
        };
        let mut list = header.channels.list.to_vec();
        for (channel, samples) in list.iter_mut().zip(&mut part.samples) {
            if channel.sample_type != SampleType::U32 && channel.sample_type != kind {
                let mut values = vec![0.0; header.layer_size.area()];
                samples.to_f32(&mut values);
                *samples = Cow::Owned(Samples::from_f32(&values, kind));
                channel.sample_type = kind;
            }
        }
        header.channels = ChannelList::new(list.into());
    }
}

/// Assembles the file.
fn assemble(parts: &[Part<'_>]) -> ::exr::error::Result<Vec<u8>> {
    let headers: Vec<Header> = parts.iter().map(|p| p.header.clone()).collect();
    let requirements = MetaData::validate(&headers, false)?;
    let mut file = Vec::new();
    file.extend(::exr::meta::magic_number::BYTES);
    requirements.write(&mut file)?;
    for header in &headers {
        let mut attributes: Vec<_> = header.all_named_attributes().collect();
        attributes.sort_by(|a, b| a.0.cmp(b.0));
        for (name, value) in &attributes {
            attribute::write(name, value, &mut file)?;
        }
        file.push(0);
    }
    if requirements.has_multiple_layers {
        file.push(0);
    }
    let mut table = file.len();
    let total: usize = headers.iter().map(|h| h.chunk_count).sum();
    file.resize(file.len() + 8 * total, 0);
    let pool = htj2k::Pool::default();
    for (index, part) in parts.iter().enumerate() {
        let chunks: Vec<Vec<u8>> = rectangles(&part.header)
            .into_par_iter()
            .map(|block| {
                let mut chunk = Vec::new();
                if requirements.has_multiple_layers {
                    chunk.extend((index as i32).to_le_bytes());
                }
                place(&part.header, &block, &mut chunk);
                let raw = gather(part, &block);
                let packed = compress(&part.header, raw, block, &pool)?;
                chunk.extend((packed.len() as u32).to_le_bytes());
                chunk.extend(packed);
                Ok(chunk)
            })
            .collect::<::exr::error::Result<_>>()?;
        file.reserve_exact(chunks.iter().map(Vec::len).sum());
        for chunk in chunks {
            let offset = (file.len() as u64).to_le_bytes();
            file[table..table + 8].copy_from_slice(&offset);
            table += 8;
            file.extend(chunk);
        }
    }
    Ok(file)
}

/// Compresses a block of pixels.
fn compress(
    header: &Header,
    raw: Vec<u8>,
    block: IntegerBounds,
    pool: &htj2k::Pool,
) -> ::exr::error::Result<Vec<u8>> {
    let mut compression = header.compression;
    if matches!(
        compression,
        ExrCompression::HTJ2K32 | ExrCompression::HTJ2K256
    ) {
        let packed = htj2k::compress(header, &raw, &block, pool);
        if packed.len() < raw.len() {
            return Ok(packed);
        }
        // Noise is stored as it is.
        compression = ExrCompression::Uncompressed;
    }
    compression.compress_image_section_to_le(header, raw, block)
}

/// The rectangles of a part's blocks, from top to bottom.
fn rectangles(header: &Header) -> Vec<IntegerBounds> {
    let size = header.layer_size;
    let block = match header.blocks {
        BlockDescription::ScanLines => (size.width(), header.compression.scan_lines_per_block()),
        BlockDescription::Tiles(tiles) => (tiles.tile_size.width(), tiles.tile_size.height()),
    };
    let mut rectangles = Vec::with_capacity(header.chunk_count);
    for y in (0..size.height()).step_by(block.1) {
        for x in (0..size.width()).step_by(block.0) {
            let position = (x as i32, y as i32);
            let extent = (
                block.0.min(size.width() - x),
                block.1.min(size.height() - y),
            );
            rectangles.push(IntegerBounds::new(position, extent));
        }
    }
    rectangles
}

/// The coordinates of a block in the file.
fn place(header: &Header, block: &IntegerBounds, chunk: &mut Vec<u8>) {
    match header.blocks {
        BlockDescription::ScanLines => {
            let y = block.position.1 + header.own_attributes.layer_position.1;
            chunk.extend(y.to_le_bytes());
        }
        BlockDescription::Tiles(tiles) => {
            let x = block.position.0 / tiles.tile_size.0 as i32;
            let y = block.position.1 / tiles.tile_size.1 as i32;
            for value in [x, y, 0, 0] {
                chunk.extend(value.to_le_bytes());
            }
        }
    }
}

/// The samples of a block in the order of the file, in native bytes.
fn gather(part: &Part<'_>, block: &IntegerBounds) -> Vec<u8> {
    let (x, y) = (block.position.0 as usize, block.position.1 as usize);
    let stride = part.header.layer_size.width();
    let mut raw = Vec::with_capacity(block.size.area() * part.header.channels.bytes_per_pixel);
    for row in 0..block.size.height() {
        let at = (y + row) * stride + x;
        let range = at..at + block.size.width();
        for samples in &part.samples {
            match samples.as_ref() {
                Samples::F16(v) => raw.extend_from_slice(bytemuck::cast_slice(&v[range.clone()])),
                Samples::F32(v) => raw.extend_from_slice(bytemuck::cast_slice(&v[range.clone()])),
                Samples::U32(v) => raw.extend_from_slice(bytemuck::cast_slice(&v[range.clone()])),
            }
        }
    }
    raw
}

/// The error for a frame with nothing to write.
pub(crate) fn check(frame: &Frame, path: &Path) -> Result<()> {
    if frame.layers().next().is_none() {
        return Err(Error::input(format!(
            "{}: the frame has no layers to write",
            path.display()
        )));
    }
    Ok(())
}
