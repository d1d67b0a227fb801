//! EXR files as frames and back.

use super::assign::{Assignment, Mapped, assign};
use super::{EVERY, Source, chroma, deep, images, read, size_of, text, type_name, write};
use crate::codec::{Codec, Content, Extras, Holds, Page, Written};
use crate::raster::Transfer;
use crate::{ChannelFacts, Facts, Format, LayerFacts, PartFacts, ReadOptions};
use ::exr::meta::BlockDescription;
use ::exr::meta::header::Header;
use limpid_core::{Error, Frame, Image, Kind, Layer, Part, Result, Size};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// OpenEXR in the table of formats.
pub(crate) const CODEC: Codec = Codec {
    name: "OpenEXR",
    extensions: &["exr"],
    begins: |bytes| bytes.starts_with(&[0x76, 0x2f, 0x31, 0x01]),
    transfer: Transfer::Linear,
    holds: Holds::Layers,
    read: read_frame,
    inspect: Some(inspect),
    write: write_frame,
};

/// The whole file, and the mapping of its channels to layers.
#[derive(Debug)]
struct Origin {
    source: Source,
    layers: Vec<Mapped>,
}

impl Extras for Origin {
    fn transfer(&self) -> Transfer {
        Transfer::Linear
    }

    fn text(&self, name: &str) -> Option<String> {
        self.source.text(name)
    }

    fn alpha(&self) -> Option<Image> {
        let mapped = self.layers.iter().find(|m| m.layer == Kind::Alpha.into())?;
        self.source.image(mapped).ok()
    }
}

/// What is told of a deep image.
const FLATTENED: &str = "a deep image was flattened: its samples were composited front to back";

fn read_frame(file: Cow<'_, [u8]>, path: &Path, options: &ReadOptions) -> Result<Content> {
    let about = |e: Error| match e {
        Error::Unknown {
            name, near, known, ..
        } => Error::Unknown {
            what: format!("layer of {}", path.display()),
            name,
            near,
            known,
        },
        other => Error::input(format!("{}: {other}", path.display())),
    };
    // The layers are found before the pixels are read, so that invalid options fail early.
    let (meta, _) = read::headers(&file, path, options.flatten)?;
    let headers: Vec<Header> = meta.headers.iter().map(deep::flat).collect();
    let headers: Vec<Header> = headers.iter().map(chroma::shown).collect();
    let mut found = assign(&headers, options).map_err(about)?;
    found.notes.extend(chroma::note(&meta.headers));
    if meta.headers.iter().any(|header| header.deep) {
        found.notes.push(FLATTENED.to_owned());
    }
    let has_color = found.layers.iter().any(|m| m.layer == Layer::COLOR);
    if options.need_color && !has_color {
        return Err(no_color(&found, path));
    }
    let mut source = read::source(&file, path, options.limit, options.flatten)?;
    // A large file and its frame should not be in memory at the same time.
    drop(file);
    let first = found.layers.iter().find(|m| m.layer == Layer::COLOR);
    let size = first
        .or(found.layers.first())
        .map_or(size_of(&headers[0]), |m| size_of(&headers[m.part]));
    let mut frame = Frame::empty(size)?;
    let mut notes = found.notes;
    for (layer, image) in images(&source, &found.layers)? {
        frame.insert(layer, image)?;
    }
    let mut layers = found.layers;
    if let Some(home) = found.home {
        // The channels that were read stay; the result is written elsewhere.
        let read = layers.iter_mut().filter(|m| m.layer == Layer::COLOR);
        read.for_each(|m| m.derived = true);
        layers.push(home);
    }
    for (other, name) in found.others {
        if layers
            .iter()
            .any(|m| m.channels == other.channels && m.part == other.part)
        {
            continue;
        }
        if same_samples(&source, &layers, &other) {
            layers.push(other);
        } else {
            notes.push(format!(
                "layer {name} could also be the colour; to use it, select it with color={name}"
            ));
        }
    }
    if layers
        .iter()
        .any(|m| m.derived && m.layer.part == Part::HalfA)
    {
        frame.average_halves()?;
    }
    if let Some(every) = source.text(EVERY).and_then(|t| t.parse().ok()) {
        frame.set_sample_spacing(every);
    }
    notes.append(&mut source.notes);
    Ok(Content {
        frame,
        kept: Arc::new(Origin { source, layers }),
        alpha: None,
        notes,
    })
}

/// Whether a group holds a copy of the colour, which is written back with it.
fn same_samples(source: &Source, layers: &[Mapped], other: &Mapped) -> bool {
    let Some(color) = layers.iter().find(|m| m.layer == Layer::COLOR) else {
        return false;
    };
    let same = |(a, b): (&usize, &usize)| {
        source.parts[color.part].samples[*a] == source.parts[other.part].samples[*b]
    };
    color.channels.len() == other.channels.len()
        && size_of(&source.parts[color.part].header) == size_of(&source.parts[other.part].header)
        && color.channels.iter().zip(&other.channels).all(same)
}

fn no_color(found: &Assignment, path: &Path) -> Error {
    let names: Vec<String> = found
        .groups
        .iter()
        .map(|g| {
            let letters: Vec<&str> = g.channels.iter().map(|(_, c)| c.as_str()).collect();
            match (g.name.as_str(), letters.join(",")) {
                ("", letters) => letters,
                (name, letters) if letters.is_empty() => name.to_owned(),
                (name, letters) => format!("{name} ({letters})"),
            }
        })
        .collect();
    Error::Missing {
        layer: Layer::COLOR,
        why: format!("{} has {}", path.display(), names.join(", ")),
    }
}

fn write_frame(page: &Page<'_>) -> Result<Written> {
    let Page {
        frame,
        options,
        path,
        ..
    } = page;
    write::check(frame, path)?;
    if let Some(Origin { source, layers }) = page.kept() {
        return write::bytes(frame, Some((source, layers)), options, path);
    }
    let frame = linear_frame(page)?;
    write::bytes(&frame, None, options, path)
}

/// Converts the frame of a photograph to linear light.
fn linear_frame(page: &Page<'_>) -> Result<Frame> {
    let mut out = page.frame.clone();
    if page.frame.get(Layer::COLOR).is_some() {
        let raster = page.raster(Transfer::Linear)?;
        out.insert(Kind::Color, raster.color.into_owned())?;
        if let Some(alpha) = raster.alpha {
            out.insert(Kind::Alpha, alpha)?;
        }
    }
    Ok(out)
}

fn inspect(bytes: &[u8], path: &Path, options: &ReadOptions) -> Result<Facts> {
    // What a deep file holds can be said without flattening it.
    let (meta, _) = read::headers(bytes, path, true)?;
    let headers: Vec<Header> = meta.headers.iter().map(chroma::shown).collect();
    let mut found = assign(&headers, options)?;
    found.notes.extend(chroma::note(&meta.headers));
    let mut parts: Vec<PartFacts> = headers.iter().map(part).collect();
    for group in &found.groups {
        let list = &headers[group.part].channels.list;
        let mine = |m: &&Mapped| {
            let inside = |c: &usize| group.channels.iter().any(|(index, _)| index == c);
            m.part == group.part && m.channels.iter().any(inside)
        };
        // Files sort channels by name; users expect RGBA.
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
                    sample: type_name(list[*index].sample_type).to_owned(),
                })
                .collect(),
            recognised: found
                .layers
                .iter()
                .chain(found.others.iter().map(|(m, _)| m))
                .filter(mine)
                .map(|m| m.layer.clone())
                .collect(),
        });
    }
    if meta.headers.iter().any(|header| header.deep) {
        let what =
            "a deep image: many samples in a pixel, which the option 'flatten' composites into one";
        found.notes.push(what.to_owned());
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
        text => text
            .trim_end_matches(" compression")
            .replace("ht j2k ", "htj2k"),
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
        .map(|(name, _)| text(name))
        .filter(|name| !core.contains(&name.as_str()))
        .collect();
    attributes.sort();
    let name = header.own_attributes.layer_name.as_ref();
    PartFacts {
        name: name.map(|n| text(n.as_slice())),
        size: size_of(header),
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
