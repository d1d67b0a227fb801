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
mod pfm;
mod png;
mod raster;
mod tiff;

use crate::{Error, Frame, Image, Kind, Layer, Result};
use raster::Raster;
use std::path::Path;
use std::sync::Arc;

pub use facts::{ChannelFacts, Facts, LayerFacts, PartFacts, inspect};
pub use format::Format;
pub use raster::Transfer;

/// How to read a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Layers by the name that the file gives them, before all names that are known: a layer (`ViewLayer.Normal`, or
    /// only `Normal`) or a list of channels (`n.x,n.y,n.z`).
    pub layers: Vec<(Layer, String)>,
    /// Whether a file without colour is an error. It is by default.
    pub need_color: bool,
    /// The most bytes that the pixels of a file may take. 32 GiB by default.
    pub limit: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            layers: Vec::new(),
            need_color: true,
            limit: 32 << 30,
        }
    }
}

impl ReadOptions {
    /// Takes a layer from a name in the file, like the program's `--layer normal=NAME`.
    ///
    /// ```
    /// let options = limpid::io::ReadOptions::default().layer("normal=my normals")?;
    /// assert!(limpid::io::ReadOptions::default().layer("normal").is_err());
    /// # Ok::<(), limpid::Error>(())
    /// ```
    pub fn layer(mut self, assignment: &str) -> Result<Self> {
        let Some((layer, name)) = assignment.split_once('=') else {
            return Err(Error::input(format!(
                "'{assignment}' is not LAYER=NAME; expected something like normal=N"
            )));
        };
        self.layers
            .push((layer.trim().parse()?, name.trim().to_owned()));
        Ok(self)
    }
}

/// How to write a file. What is not set follows the file that the frame came from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Sample type of EXR files. New files have float.
    pub sample: Option<Sample>,
    /// Compression of EXR files. New files have ZIP.
    pub compression: Option<Compression>,
    /// Bits of PNG and integer TIFF files. New PNG files have 8; new TIFF files are float.
    pub bits: Option<Bits>,
    /// Quality of JPEG files, 1 … 100. New files have 95.
    pub quality: Option<u8>,
    /// What the frame's colour is, where its origin does not say. Linear by default.
    pub transfer: Option<Transfer>,
}

/// A sample type of EXR files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// 16 bit.
    Half,
    /// 32 bit.
    Float,
}

/// A lossless compression of EXR files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// None.
    None,
    /// Deflate over 16 lines.
    Zip,
    /// Wavelet, good for grain.
    Piz,
}

/// Bits per sample of integer formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bits {
    /// 8 bit.
    Eight,
    /// 16 bit.
    Sixteen,
}

/// A file that was read.
#[derive(Debug)]
#[non_exhaustive]
pub struct Picture {
    /// The layers that were recognised.
    pub frame: Frame,
    /// All that must survive when the frame is written again.
    pub origin: Origin,
    /// What the user should know: choices among layers, things that will not survive.
    pub notes: Vec<String>,
}

/// Where a frame came from: everything of the file that must survive. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Origin {
    format: Format,
    body: Arc<Body>,
}

#[derive(Debug)]
enum Body {
    Exr {
        source: exr::Source,
        layers: Vec<exr::assign::Mapped>,
    },
    Raster {
        kept: Kept,
        alpha: Option<Image>,
    },
}

/// What survives besides the pixels, by format.
#[derive(Debug)]
enum Kept {
    Png(png::Kept),
    Tiff(tiff::Kept),
    Jpeg(jpeg::Kept),
    Hdr(hdr::Kept),
    Pfm(pfm::Kept),
}

impl Origin {
    /// The file's format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the frame's colour is light or encoded.
    pub fn transfer(&self) -> Transfer {
        match *self.body {
            Body::Raster { ref kept, .. } => match kept {
                Kept::Png(_) | Kept::Jpeg(_) => Transfer::Encoded,
                Kept::Tiff(kept) => kept.sample.transfer(),
                Kept::Hdr(_) | Kept::Pfm(_) => Transfer::Linear,
            },
            Body::Exr { .. } => Transfer::Linear,
        }
    }

    /// The alpha that the file had.
    fn alpha(&self) -> Option<Image> {
        match &*self.body {
            Body::Exr { source, layers } => {
                let mapped = layers.iter().find(|m| m.layer == Kind::Alpha.into())?;
                source.image(mapped).ok()
            }
            Body::Raster { alpha, .. } => alpha.clone(),
        }
    }
}

/// Reads a file.
///
/// The format is told by the content; where the extension says otherwise, a note tells so.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Picture> {
    let path = path.as_ref();
    let bytes = load(path)?;
    let (format, note) = sniff(&bytes, path)?;
    let mut picture = guard(path, || read_bytes(&bytes, format, path, options))?;
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
                "{}: is a {format} file, though its extension says {named}; read as {format}",
                path.display()
            );
            Ok((format, Some(note)))
        }
        (Some(format), _) => Ok((format, None)),
        (None, Some(named)) => Err(Error::input(format!(
            "{}: is not a {named} file, though its extension says so",
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
pub fn read_bytes(
    bytes: &[u8],
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
    let (raster, kept, notes) = match format {
        Format::Exr => return read_exr(bytes, path, options),
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

fn read_exr(bytes: &[u8], path: &Path, options: &ReadOptions) -> Result<Picture> {
    let about = |e: Error| match e {
        Error::Input(what) => Error::input(format!("{}: {what}", path.display())),
        other => other,
    };
    // The layers are found before the pixels are read, so that a wrong wish is told at once.
    let (meta, _) = exr::read::headers(bytes, path)?;
    let found = exr::assign::assign(&meta.headers, options).map_err(about)?;
    let has_color = found.layers.iter().any(|m| m.layer == Layer::COLOR);
    if options.need_color && !has_color {
        return Err(no_color(&found, path));
    }
    let mut source = exr::read::source(bytes, path, options.limit)?;
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
    let body = origin.map(|o| &*o.body);
    if format == Format::Exr {
        exr::write::check(frame, path)?;
        return match body {
            Some(Body::Exr { source, layers }) => {
                exr::write::bytes(frame, Some((source, layers)), options, path)
            }
            _ => {
                let frame = linear_frame(frame, origin, from, path)?;
                exr::write::bytes(&frame, None, options, path)
            }
        };
    }
    let kept = match body {
        Some(Body::Raster { kept, .. }) => Some(kept),
        _ => None,
    };
    let mut notes: Vec<String> = raster::left_out(frame, format).into_iter().collect();
    let bytes = match format {
        Format::Exr | Format::Png => {
            let raster = Raster::from_frame(frame, origin, (from, Transfer::Encoded), path)?;
            let kept = match kept {
                Some(Kept::Png(kept)) => Some(kept),
                _ => None,
            };
            png::write(&raster, kept, options, path)?
        }
        Format::Tiff => {
            let kept = match kept {
                Some(Kept::Tiff(kept)) => Some(kept),
                _ => None,
            };
            // A photograph stays one.
            let bits = match (kept, from) {
                (None, Transfer::Encoded) => options.bits.or(Some(Bits::Sixteen)),
                _ => options.bits,
            };
            let options = WriteOptions {
                bits,
                ..options.clone()
            };
            let to = tiff::sample(kept, &options).transfer();
            let raster = Raster::from_frame(frame, origin, (from, to), path)?;
            tiff::write(&raster, kept, &options, path)?
        }
        Format::Jpeg => {
            let raster = Raster::from_frame(frame, origin, (from, Transfer::Encoded), path)?;
            let kept = match kept {
                Some(Kept::Jpeg(kept)) => Some(kept),
                _ => None,
            };
            notes.extend(raster::no_alpha(&raster, format));
            jpeg::write(&raster, kept, options, path)?
        }
        Format::Hdr => {
            let raster = Raster::from_frame(frame, origin, (from, Transfer::Linear), path)?;
            let kept = match kept {
                Some(Kept::Hdr(kept)) => Some(kept),
                _ => None,
            };
            notes.extend(raster::no_alpha(&raster, format));
            hdr::write(&raster, kept)
        }
        Format::Pfm => {
            let raster = Raster::from_frame(frame, origin, (from, Transfer::Linear), path)?;
            let kept = match kept {
                Some(Kept::Pfm(kept)) => Some(kept),
                _ => None,
            };
            notes.extend(raster::no_alpha(&raster, format));
            pfm::write(&raster, kept)
        }
    };
    Ok((bytes, tell(path, notes)))
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
