//! The contents of a file, without its pixels.

use super::{Format, Picture, ReadOptions, guard, load, read_bytes};
use limpid_core::{Layer, Result, Size};
use std::path::Path;

/// The contents of a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Facts {
    /// The format, by content.
    pub format: Format,
    /// The parts, at least one.
    pub parts: Vec<PartFacts>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// One part of a file. Only EXR files have more than one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PartFacts {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Width and height of the stored pixels (the data window).
    pub size: Size,
    /// The offset of the data window: left and top.
    pub position: (i32, i32),
    /// The display window: left, top and size, if the format has one.
    pub display: Option<(i32, i32, Size)>,
    /// Compression, as text.
    pub compression: String,
    /// Names of attributes and other data that are preserved.
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
    /// The layers it was recognised as. `R,G,B,A` is both colour and alpha.
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

/// Inspects a file: size, parts, layers, types, and the recognised layers.
///
/// ```no_run
/// # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
/// let facts = limpid::io::inspect("render.exr", &limpid::io::ReadOptions::default())?;
/// for layer in facts.parts.iter().flat_map(|p| &p.layers) {
///     println!("{} is {:?}", layer.name, layer.recognised);
/// }
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn inspect(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Facts> {
    let path = path.as_ref();
    let (bytes, format, note) = load(path, options.limit)?;
    let mut facts = guard(path, || match format.codec().inspect {
        Some(inspect) => inspect(&bytes, path, options),
        None => Ok(of_raster(&read_bytes(&bytes, format, path, options)?)),
    })?;
    facts.notes.splice(0..0, note);
    Ok(facts)
}

fn of_raster(picture: &Picture) -> Facts {
    let kept = &picture.origin.kept;
    let channels = |image: &limpid_core::Image, layer: &Layer| -> Vec<ChannelFacts> {
        let names: &[&str] = match (layer.to_string().as_str(), image.channels()) {
            ("alpha", _) => &["A"],
            (_, 1) => &["Y"],
            _ => &["R", "G", "B"],
        };
        let fact = |name: &&str| ChannelFacts {
            name: (*name).to_owned(),
            sample: kept.sample().to_owned(),
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
            compression: kept.compression(),
            attributes: kept.names(),
            layers: layers.collect(),
        }],
        notes: picture.notes.clone(),
    }
}
