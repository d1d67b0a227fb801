//! Files ↔ frames.
//!
//! [`read`] gives a [`Picture`]: the frame, where it came from ([`Origin`]) and what should be told. [`write`] puts a
//! frame into a file; with the origin of a picture, everything that the frame does not change survives: other layers
//! and parts, alpha, attributes and text, colour profile, windows, sample types and compression.
//!
//! What always holds:
//! - Output files appear whole or not at all.
//! - No input makes a reader panic or take memory that the file cannot fill.
//! - A value that nobody changed is written back with the same bits, in the same format.
//!
//! Colour of EXR, HDR, PFM and float TIFF is linear light, premultiplied by alpha. Colour of PNG, JPEG and 8 and 16 bit TIFF is
//! kept as encoded in the file, 0 … 1, apart from alpha. Writing from one sort to the other goes through the sRGB curve.
//!
//! ```
//! use limpid::{Frame, Image, Kind, io};
//! let folder = std::env::temp_dir();
//! let path = folder.join("limpid-io-example.exr");
//! let mut frame = Frame::new(Image::new(4, 3, 3))?;
//! frame.insert(Kind::Normal, Image::new(4, 3, 3))?;
//! io::write(&path, &frame, None, &io::WriteOptions::default())?;
//! let picture = io::read(&path, &io::ReadOptions::default())?;
//! assert_eq!(picture.frame, frame);
//! # std::fs::remove_file(&path).ok();
//! # Ok::<(), limpid::Error>(())
//! ```

mod atomic;
mod exr;
mod facts;
mod format;
mod hdr;
mod jpeg;
mod names;
mod options;
mod pfm;
mod picture;
mod png;
mod raster;
mod tiff;
pub mod y4m;

use crate::{Error, Frame, Kind, Layer, Part, Result};
use picture::{Body, Kept};
use raster::Raster;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

pub use facts::{ChannelFacts, Facts, LayerFacts, PartFacts, inspect};
pub use format::Format;
pub use options::{Bits, Compression, ReadOptions, Sample, WriteOptions};
pub use picture::{Origin, Picture};
pub use raster::Transfer;

/// Reads a file.
///
/// The format is told by the content; where the extension says otherwise, a note tells so.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Picture> {
    let path = path.as_ref();
    let bytes = load(path)?;
    let (format, note) = sniff(&bytes, path)?;
    let mut picture = guard(path, || read_bytes(bytes, format, path, options))?;
    picture.notes.splice(0..0, note);
    Ok(picture)
}

/// The whole file.
fn load(path: &Path) -> Result<Vec<u8>> {
    if path.is_dir() {
        return Err(Error::input(format!(
            "{}: is a folder, not a picture",
            path.display()
        )));
    }
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    if bytes.is_empty() {
        return Err(Error::input(format!(
            "{}: the file is empty",
            path.display()
        )));
    }
    Ok(bytes)
}

/// The format by content, and a note when the extension is another one's.
fn sniff(bytes: &[u8], path: &Path) -> Result<(Format, Option<String>)> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let named = Format::from_extension(extension);
    match (Format::from_content(bytes), named) {
        (Some(format), Some(named)) if format != named => {
            let note = format!(
                "{}: the content is {format}, though the extension says {named}; read as {format}",
                path.display()
            );
            Ok((format, Some(note)))
        }
        (Some(format), _) => Ok((format, None)),
        (None, Some(named)) => Err(Error::input(format!(
            "{}: the content is not {named}, as the extension says, nor another known format",
            path.display()
        ))),
        (None, None) => {
            Format::from_path(path)?;
            Err(Error::input(format!(
                "{}: is not a picture of a known format",
                path.display()
            )))
        }
    }
}

/// The last line of defence: a decoder of a dependency that panics on a damaged file is told as a damaged file.
///
/// The structure of files is checked before decoders see them, and the fuzz targets run without this guard, so it is
/// not expected to act.
fn guard<T>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Error::input(format!(
            "{}: the file is damaged: its decoder gave up",
            path.display()
        )))
    })
}

/// Reads a file's bytes as one format. `path` is for messages only. Made for fuzzing; programs use [`read`].
#[doc(hidden)]
pub fn read_bytes<'a>(
    bytes: impl Into<Cow<'a, [u8]>>,
    format: Format,
    path: &Path,
    options: &ReadOptions,
) -> Result<Picture> {
    if format != Format::Exr && !options.layers.is_empty() {
        return Err(Error::input(format!(
            "{}: layers are named for EXR files; {format} has only colour and alpha",
            path.display()
        )));
    }
    let limit = options.limit;
    let file = bytes.into();
    let bytes = file.as_ref();
    let (raster, kept, notes) = match format {
        Format::Exr => return read_exr(file, path, options),
        Format::Png => {
            let (raster, kept, notes) = png::read(bytes, path, limit)?;
            (raster, Kept::Png(kept), notes)
        }
        Format::Tiff => {
            let (raster, kept, notes) = tiff::read(bytes, path, limit)?;
            (raster, Kept::Tiff(kept), notes)
        }
        Format::Jpeg => {
            let (raster, kept, notes) = jpeg::read(bytes, path, limit)?;
            (raster, Kept::Jpeg(kept), notes)
        }
        Format::Hdr => {
            let (raster, kept) = hdr::read(bytes, path, limit)?;
            (raster, Kept::Hdr(kept), Vec::new())
        }
        Format::Pfm => {
            let (raster, kept) = pfm::read(bytes, path, limit)?;
            (raster, Kept::Pfm(kept), Vec::new())
        }
    };
    let alpha = raster.alpha.clone();
    Ok(Picture {
        frame: raster.into_frame()?,
        origin: Origin {
            format,
            body: Arc::new(Body::Raster { kept, alpha }),
        },
        notes: tell(path, notes),
    })
}

/// Notes with the file they are about.
fn tell(path: &Path, notes: Vec<String>) -> Vec<String> {
    let about = |n| format!("{}: {n}", path.display());
    notes.into_iter().map(about).collect()
}

/// The colour was the first of two buffers of as many samples: it becomes their mean, of half the variance.
fn two_buffers(frame: &mut Frame) {
    let part = |part| Layer::new(Kind::Color, part);
    let Some(b) = frame.get(part(Part::HalfB)).cloned() else {
        return;
    };
    if let Some(color) = frame.get_mut(Layer::COLOR) {
        for (c, b) in color.data_mut().iter_mut().zip(b.data()) {
            *c = 0.5 * (*c + b);
        }
    }
    if let Some(variance) = frame.get_mut(part(Part::Variance)) {
        variance.data_mut().iter_mut().for_each(|v| *v *= 0.5);
    }
}

fn read_exr(file: Cow<'_, [u8]>, path: &Path, options: &ReadOptions) -> Result<Picture> {
    let about = |e: Error| match e {
        Error::Input(what) => Error::input(format!("{}: {what}", path.display())),
        other => other,
    };
    // The layers are found before the pixels are read, so that a wrong wish is told at once.
    let (meta, _) = exr::read::headers(&file, path)?;
    let found = exr::assign::assign(&meta.headers, options).map_err(about)?;
    let has_color = found.layers.iter().any(|m| m.layer == Layer::COLOR);
    if options.need_color && !has_color {
        return Err(no_color(&found, path));
    }
    let mut source = exr::read::source(&file, path, options.limit)?;
    // A large file and its frame should not be in memory together.
    drop(file);
    let first = found.layers.iter().find(|m| m.layer == Layer::COLOR);
    let size = first
        .or(found.layers.first())
        .map_or(exr::size_of(&meta.headers[0]), |m| {
            exr::size_of(&meta.headers[m.part])
        });
    let mut frame = Frame::empty(size)?;
    for (layer, image) in exr::images(&source, &found.layers)? {
        frame.insert(layer, image)?;
    }
    if found
        .layers
        .iter()
        .any(|m| m.derived && m.layer.part == Part::HalfA)
    {
        two_buffers(&mut frame);
    }
    if let Some(every) = source.text(exr::EVERY).and_then(|t| t.parse().ok()) {
        frame.set_every(every);
    }
    let mut notes = found.notes;
    notes.append(&mut source.notes);
    let notes = tell(path, notes);
    Ok(Picture {
        frame,
        origin: Origin {
            format: Format::Exr,
            body: Arc::new(Body::Exr {
                source,
                layers: found.layers,
            }),
        },
        notes,
    })
}

fn no_color(found: &exr::assign::Assignment, path: &Path) -> Error {
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
    Error::input(format!(
        "{}: no colour was found; name it with --layer color=NAME. The file has: {}",
        path.display(),
        names.join(", ")
    ))
}

/// Writes a frame to a file, in the format of the extension, whole or not at all. Gives notes on what could not be kept.
///
/// With the origin of a picture, the frame's layers are put back under the names and types that they had, and all that the
/// frame does not have is kept.
pub fn write(
    path: impl AsRef<Path>,
    frame: &Frame,
    origin: Option<&Origin>,
    options: &WriteOptions,
) -> Result<Vec<String>> {
    let path = path.as_ref();
    let format = Format::from_path(path)?;
    let (bytes, notes) = guard(path, || write_bytes(frame, format, origin, options, path))?;
    atomic::write(path, &bytes)?;
    Ok(notes)
}

/// A frame as the bytes of a file, with notes.
fn write_bytes(
    frame: &Frame,
    format: Format,
    origin: Option<&Origin>,
    options: &WriteOptions,
    path: &Path,
) -> Result<(Vec<u8>, Vec<String>)> {
    let from = origin
        .map(Origin::transfer)
        .or(options.transfer)
        .unwrap_or(Transfer::Linear);
    let kept = match origin.map(|o| &*o.body) {
        Some(Body::Raster { kept, .. }) => Some(kept),
        _ => None,
    };
    let raster = |to| Raster::from_frame(frame, origin, (from, to), path);
    let mut notes: Vec<String> = Vec::new();
    if format != Format::Exr {
        notes.extend(raster::left_out(frame, format));
    }
    let bytes = match format {
        Format::Exr => {
            let (bytes, told) = write_exr(frame, origin, options, path)?;
            notes.extend(told);
            bytes
        }
        Format::Png => {
            let raster = raster(Transfer::Encoded)?;
            png::write(&raster, kept.and_then(Kept::png), options, path)?
        }
        Format::Tiff => {
            let kept = kept.and_then(Kept::tiff);
            let mut options = options.clone();
            // A photograph stays one.
            if kept.is_none() && from == Transfer::Encoded {
                options.bits.get_or_insert(Bits::Sixteen);
            }
            let raster = raster(tiff::sample(kept, &options).transfer())?;
            tiff::write(&raster, kept, &options, path)?
        }
        Format::Jpeg => {
            let raster = raster(Transfer::Encoded)?;
            notes.extend(raster::no_alpha(&raster, format));
            jpeg::write(&raster, kept.and_then(Kept::jpeg), options, path)?
        }
        Format::Hdr => {
            let raster = raster(Transfer::Linear)?;
            notes.extend(raster::no_alpha(&raster, format));
            hdr::write(&raster, kept.and_then(Kept::hdr))
        }
        Format::Pfm => {
            let raster = raster(Transfer::Linear)?;
            notes.extend(raster::no_alpha(&raster, format));
            pfm::write(&raster, kept.and_then(Kept::pfm))
        }
    };
    Ok((bytes, tell(path, notes)))
}

fn write_exr(
    frame: &Frame,
    origin: Option<&Origin>,
    options: &WriteOptions,
    path: &Path,
) -> Result<(Vec<u8>, Vec<String>)> {
    exr::write::check(frame, path)?;
    if let Some(Body::Exr { source, layers }) = origin.map(|o| &*o.body) {
        return exr::write::bytes(frame, Some((source, layers)), options, path);
    }
    let from = origin.map(Origin::transfer).or(options.transfer);
    let frame = linear_frame(frame, origin, from.unwrap_or(Transfer::Linear), path)?;
    exr::write::bytes(&frame, None, options, path)
}

/// A frame from a photograph as linear light, for EXR.
fn linear_frame(
    frame: &Frame,
    origin: Option<&Origin>,
    from: Transfer,
    path: &Path,
) -> Result<Frame> {
    let mut out = frame.clone();
    if frame.get(Layer::COLOR).is_some() {
        let raster = Raster::from_frame(frame, origin, (from, Transfer::Linear), path)?;
        out.insert(Kind::Color, raster.color)?;
        if let Some(alpha) = raster.alpha {
            out.insert(Kind::Alpha, alpha)?;
        }
    }
    Ok(out)
}
