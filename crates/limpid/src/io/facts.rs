//! What a file holds, without reading its pixels.

use super::{Body, Format, Kept, Picture, ReadOptions, exr, guard, load, read_bytes, sniff};
use crate::{Layer, Result, Size};
use ::exr::meta::BlockDescription;
use ::exr::meta::header::Header;
use std::path::Path;

/// What a file holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Facts {
    /// The format, by content.
    pub format: Format,
    /// The parts, at least one.
    pub parts: Vec<PartFacts>,
    /// What should be told.
    pub notes: Vec<String>,
}

/// One part of a file. Only EXR files have more than one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PartFacts {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Width and height of the pixels that are there (the data window).
    pub size: Size,
    /// Where they lie: left and top.
    pub position: (i32, i32),
    /// What is to be shown: left, top and size, where the format says.
    pub display: Option<(i32, i32, Size)>,
    /// Compression, in words.
    pub compression: String,
    /// Attributes and other things that are kept, by name.
    pub attributes: Vec<String>,
    /// The layers.
    pub layers: Vec<LayerFacts>,
}

/// One layer of a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LayerFacts {
    /// Its name in the file; empty for channels without one.
    pub name: String,
    /// Its channels.
    pub channels: Vec<ChannelFacts>,
    /// What it was recognised as. `R,G,B,A` is both colour and alpha.
    pub recognised: Vec<Layer>,
}

/// One channel of a layer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChannelFacts {
    /// Its name: `R`, `X`.
    pub name: String,
    /// Its sample type: `half`, `float`, `uint`, `8 bit`.
    pub sample: String,
}

/// What a file holds: size, parts, layers, types, and what each layer was recognised as.
///
/// ```no_run
/// let facts = limpid::io::inspect("render.exr", &limpid::io::ReadOptions::default())?;
/// for layer in facts.parts.iter().flat_map(|p| &p.layers) {
///     println!("{} is {:?}", layer.name, layer.recognised);
/// }
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn inspect(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Facts> {
    let path = path.as_ref();
    let bytes = load(path)?;
    let (format, note) = sniff(&bytes, path)?;
    let mut facts = guard(path, || match format {
        Format::Exr => of_exr(&bytes, path, options),
        _ => Ok(of_raster(&read_bytes(&bytes, format, path, options)?)),
    })?;
    facts.notes.splice(0..0, note);
    Ok(facts)
}

fn of_exr(bytes: &[u8], path: &Path, options: &ReadOptions) -> Result<Facts> {
    let (meta, _) = exr::read::headers(bytes, path)?;
    let found = exr::assign::assign(&meta.headers, options)?;
    let mut parts: Vec<PartFacts> = meta.headers.iter().map(part).collect();
    for group in &found.groups {
        let list = &meta.headers[group.part].channels.list;
        let mine = |m: &&exr::assign::Mapped| {
            let inside = |c: &usize| group.channels.iter().any(|(index, _)| index == c);
            m.part == group.part && m.channels.iter().any(inside)
        };
        // Files sort channels by name; people know them as RGBA.
        let mut channels = group.channels.clone();
        let usual = |name: &str| match name {
            "R" | "r" => 0,
            "G" | "g" => 1,
            "B" | "b" => 2,
            "A" | "a" => 3,
            _ => 4,
        };
        channels.sort_by_key(|(index, name)| (usual(name), *index));
        parts[group.part].layers.push(LayerFacts {
            name: group.name.clone(),
            channels: channels
                .iter()
                .map(|(index, name)| ChannelFacts {
                    name: name.clone(),
                    sample: exr::type_name(list[*index].sample_type).to_owned(),
                })
                .collect(),
            recognised: found
                .layers
                .iter()
                .filter(mine)
                .map(|m| m.layer.clone())
                .collect(),
        });
    }
    Ok(Facts {
        format: Format::Exr,
        parts,
        notes: found.notes,
    })
}

fn part(header: &Header) -> PartFacts {
    let display = header.shared_attributes.display_window;
    let at = header.own_attributes.layer_position;
    let mut compression = match header.compression.to_string() {
        text if text.starts_with("no ") => "uncompressed".to_owned(),
        text => text.trim_end_matches(" compression").to_owned(),
    };
    if let BlockDescription::Tiles(tiles) = header.blocks {
        compression += &format!(", tiles {}x{}", tiles.tile_size.0, tiles.tile_size.1);
    }
    let core = [
        "channels",
        "chunkCount",
        "compression",
        "dataWindow",
        "displayWindow",
        "lineOrder",
        "name",
        "pixelAspectRatio",
        "screenWindowCenter",
        "screenWindowWidth",
        "tiles",
        "type",
    ];
    let mut attributes: Vec<String> = header
        .all_named_attributes()
        .map(|(name, _)| exr::text(name))
        .filter(|name| !core.contains(&name.as_str()))
        .collect();
    attributes.sort();
    let name = header.own_attributes.layer_name.as_ref();
    PartFacts {
        name: name.map(|n| exr::text(n.as_slice())),
        size: exr::size_of(header),
        position: (at.0, at.1),
        display: Some((
            display.position.0,
            display.position.1,
            Size::new(display.size.0, display.size.1),
        )),
        compression,
        attributes,
        layers: Vec::new(),
    }
}

fn of_raster(picture: &Picture) -> Facts {
    let (sample, compression) = match &*picture.origin.body {
        Body::Raster { kept, .. } => match kept {
            Kept::Png(kept) => (kept.sample(), "deflate".to_owned()),
            Kept::Tiff(kept) => (kept.sample.name(), kept.compression().to_owned()),
            Kept::Jpeg(kept) => ("8 bit", format!("quality {}", kept.quality)),
            Kept::Hdr(_) => ("8 bit and exponent", "run lengths".to_owned()),
            Kept::Pfm(kept) => ("float", kept.byte_order().to_owned()),
        },
        Body::Exr { .. } => ("", String::new()),
    };
    let channels = |image: &crate::Image, layer: &Layer| -> Vec<ChannelFacts> {
        let names: &[&str] = match (layer.to_string().as_str(), image.channels()) {
            ("alpha", _) => &["A"],
            (_, 1) => &["Y"],
            _ => &["R", "G", "B"],
        };
        let fact = |name: &&str| ChannelFacts {
            name: (*name).to_owned(),
            sample: sample.to_owned(),
        };
        names.iter().map(fact).collect()
    };
    let layers = picture.frame.layers().map(|(layer, image)| LayerFacts {
        name: String::new(),
        channels: channels(image, layer),
        recognised: vec![layer.clone()],
    });
    Facts {
        format: picture.origin.format,
        parts: vec![PartFacts {
            name: None,
            size: picture.frame.size(),
            position: (0, 0),
            display: None,
            compression,
            attributes: kept_names(picture),
            layers: layers.collect(),
        }],
        notes: picture.notes.clone(),
    }
}

/// The names of what is kept besides pixels.
fn kept_names(picture: &Picture) -> Vec<String> {
    match &*picture.origin.body {
        Body::Raster { kept, .. } => match kept {
            Kept::Png(kept) => kept.names(),
            Kept::Tiff(kept) => kept.names(),
            Kept::Jpeg(kept) => kept.names(),
            Kept::Hdr(kept) => kept.names(),
            Kept::Pfm(_) => Vec::new(),
        },
        Body::Exr { .. } => Vec::new(),
    }
}
