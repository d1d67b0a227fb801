//! Files ↔ frames.
//!
//! [`read`] returns a [`Picture`]: the frame, its [`Origin`], and notes for the user. [`write()`] writes a
//! frame to a file; with the origin of a picture, everything that the frame does not change is preserved: other layers
//! and parts, alpha, attributes and text, colour profile, windows, sample types and compression.
//!
//! Invariants:
//! - Output files are written completely or not at all.
//! - No input makes a reader panic, or allocate memory that the file cannot fill.
//! - An unchanged value is written back with the same bits, in the same format.
//!
//! Colour of EXR, HDR, PFM and float TIFF is linear light, premultiplied by alpha. Colour of PNG, JPEG and 8 and 16 bit TIFF is
//! used as encoded in the file, 0 … 1, with straight alpha; that of DNG is developed to such values. Conversion from one kind to the other uses the sRGB curve.
//!
//! ```
//! # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
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
mod camera;
mod codec;
pub mod dng;
mod exif;
mod exr;
mod facts;
mod feature;
mod format;
mod hdr;
mod jpeg;
mod names;
mod options;
mod pages;
mod pfm;
mod picture;
mod png;
mod raster;
mod tiff;
mod view;
#[cfg_attr(not(feature = "webp"), path = "no_webp.rs")]
mod webp;
pub mod y4m;

pub use atomic::write as write_whole;
pub use camera::is_raw;
use codec::{Holds, Page, Written, tell};
use limpid_core::{Error, Frame, Result, memory};
use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use facts::{ChannelFacts, Facts, LayerFacts, PartFacts, inspect};
pub use feature::read_layer;
pub use format::Format;
pub use options::{Bits, Compression, ReadOptions, Sample, WriteOptions};
pub use pages::{PageWriter, Pages};
pub use picture::{Origin, Picture};
pub use raster::Transfer;
pub use view::View;

/// Reads a file.
///
/// The format is detected by content; if the extension does not match, a note says so.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Picture> {
    let path = path.as_ref();
    let (bytes, format, note) = load(path, options.limit)?;
    let mut picture = guard(path, || read_bytes(bytes, format, path, options))?;
    picture.notes.splice(0..0, note);
    Ok(picture)
}

/// The whole file, its format by content, and a note if the extension does not match. Files of unknown format are not read
/// beyond their first bytes, and no file beyond the limit.
fn load(path: &Path, limit: u64) -> Result<(Vec<u8>, Format, Option<String>)> {
    let wrong = |what: String| Error::input(format!("{}: {what}", path.display()));
    if path.is_dir() {
        return Err(wrong("this is a folder; expected an image file".to_owned()));
    }
    let fault = |e| Error::io(path, e);
    let mut file = File::open(path).map_err(fault)?;
    let mut bytes = Vec::new();
    let read = |file: &mut File, most: u64, bytes: &mut Vec<u8>| {
        let read = Read::by_ref(file).take(most).read_to_end(bytes);
        read.map(drop).map_err(fault)
    };
    read(&mut file, HEAD, &mut bytes)?;
    if bytes.is_empty() {
        return Err(wrong("the file is empty".to_owned()));
    }
    let (format, note) = sniff(&bytes, path)?;
    let length = file.metadata().map_or(0, |m| m.len());
    // Allows for embedded smaller copies of the pixels, which are not decoded.
    let most = limit.saturating_add(limit / 2).saturating_add(MORE);
    let too_long = || {
        let most = memory::in_words(limit);
        wrong(format!("the file is larger than the limit of {most}"))
    };
    if length > most {
        return Err(too_long());
    }
    let more = usize::try_from(length).unwrap_or(usize::MAX);
    memory::reserve(&mut bytes, more)?;
    read(&mut file, most - HEAD, &mut bytes)?;
    match file.read(&mut [0]).map_err(fault)? {
        0 => {
            let whole = || camera::settled(bytes.into(), format, path, limit);
            let (bytes, format) = guard(path, whole)?;
            Ok((bytes.into_owned(), format, note))
        }
        _ => Err(too_long()),
    }
}

/// Number of bytes for detecting the format.
const HEAD: u64 = 4096;

/// Maximum size of the data besides the pixels.
const MORE: u64 = 64 << 20;

/// The format by content, and a note if the extension does not match.
fn sniff(bytes: &[u8], path: &Path) -> Result<(Format, Option<String>)> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    if is_raw(path) || camera::begins(bytes) {
        return match Format::from_content(bytes) {
            None | Some(Format::Dng | Format::Tiff) => Ok((Format::Dng, None)),
            Some(other) => Err(Error::input(format!(
                "{}: the extension says that it is a camera's raw file, but the content is {other}; rename it",
                path.display()
            ))),
        };
    }
    let named = Format::from_extension(extension);
    let content = match (Format::from_content(bytes), named) {
        // The directory that says so may lie far behind.
        (Some(Format::Tiff), Some(Format::Dng)) => Some(Format::Dng),
        (content, _) => content,
    };
    match (content, named) {
        (Some(format), Some(named)) if format != named => {
            let note = format!(
                "{}: the extension says {named}, but the content is {format}; read as {format}",
                path.display()
            );
            Ok((format, Some(note)))
        }
        (Some(format), _) => Ok((format, None)),
        (None, Some(named)) => Err(Error::input(format!(
            "{}: the content is neither {named}, as the extension says, nor another known format",
            path.display()
        ))),
        (None, None) => {
            let known: Vec<String> = Format::ALL.iter().map(Format::to_string).collect();
            Err(Error::unsupported(format!(
                "{}: not an image in a supported format; supported are {}",
                path.display(),
                known.join(", ")
            )))
        }
    }
}

/// Reads a file that is already in memory, as [`read`] does. Its name is for messages, and its extension is compared with the
/// content.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
/// use limpid::{Frame, Image, io};
/// let frame = Frame::new(Image::new(4, 3, 3))?;
/// let bytes = io::encode(io::Format::Exr, &frame, &io::WriteOptions::default())?;
/// let picture = io::decode(&bytes, "frame.exr", &io::ReadOptions::default())?;
/// assert_eq!(picture.frame.size(), frame.size());
/// assert!(io::decode(&b"something else"[..], "frame.exr", &io::ReadOptions::default()).is_err());
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn decode<'a>(
    bytes: impl Into<Cow<'a, [u8]>>,
    name: impl AsRef<Path>,
    options: &ReadOptions,
) -> Result<Picture> {
    let (bytes, path) = (bytes.into(), name.as_ref());
    if bytes.is_empty() {
        return Err(Error::input(format!(
            "{}: the file is empty",
            path.display()
        )));
    }
    let (format, note) = sniff(&bytes, path)?;
    let mut picture = guard(path, || read_bytes(bytes, format, path, options))?;
    picture.notes.splice(0..0, note);
    Ok(picture)
}

/// The last resort: a file that makes a dependency's decoder panic is reported as corrupt.
///
/// The structure of files is checked before they reach decoders, and the fuzz targets run without this guard, so it should
/// never be needed.
fn guard<T>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let corrupt = || {
            Error::damaged(format!(
                "{}: the file is corrupt: its decoder failed",
                path.display()
            ))
        };
        Err(memory::refusal(&*panic).unwrap_or_else(corrupt))
    })
}

/// Decodes a file in memory as one format. `path` is for messages only. For fuzzing; programs use [`read`].
#[doc(hidden)]
pub fn read_bytes<'a>(
    bytes: impl Into<Cow<'a, [u8]>>,
    format: Format,
    path: &Path,
    options: &ReadOptions,
) -> Result<Picture> {
    if format.codec().holds != Holds::Layers && !options.layers.is_empty() {
        return Err(Error::input(format!(
            "{}: layers can only be selected in EXR files; {format} has only colour and alpha",
            path.display()
        )));
    }
    let (bytes, format) = camera::settled(bytes.into(), format, path, options.limit)?;
    let content = (format.codec().read)(bytes, path, options)?;
    Ok(content.picture(format, path))
}

/// Writes a frame to a file in the format of the extension, completely or not at all. Returns notes on data that could not be
/// preserved.
///
/// With the origin of a picture, the layers of the frame are written under their original names and types, and everything that
/// the frame does not contain is preserved.
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

/// Encodes a frame in memory.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
/// use limpid::{Frame, Image, io};
/// let frame = Frame::new(Image::new(4, 3, 3))?;
/// let bytes = io::encode(io::Format::Png, &frame, &io::WriteOptions::default())?;
/// assert!(bytes.starts_with(b"\x89PNG"));
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn encode(format: Format, frame: &Frame, options: &WriteOptions) -> Result<Vec<u8>> {
    let path = Path::new("image");
    let (bytes, _) = guard(path, || write_bytes(frame, format, None, options, path))?;
    Ok(bytes)
}

/// Encodes a frame in memory like [`write()`]: what the frame does not contain is preserved from its origin. Returns notes on data
/// that could not be preserved, too.
pub fn encode_like(
    format: Format,
    frame: &Frame,
    origin: &Origin,
    options: &WriteOptions,
) -> Result<(Vec<u8>, Vec<String>)> {
    let path = Path::new("image");
    guard(path, || {
        write_bytes(frame, format, Some(origin), options, path)
    })
}

/// Encodes a frame in memory, with notes.
fn write_bytes(
    frame: &Frame,
    format: Format,
    origin: Option<&Origin>,
    options: &WriteOptions,
    path: &Path,
) -> Result<Written> {
    let page = Page {
        frame,
        origin,
        options,
        holds: format.codec().holds,
        path,
    };
    let mut notes = page.lost(format);
    let (bytes, told) = (format.codec().write)(&page)?;
    notes.extend(told);
    Ok((bytes, tell(path, notes)))
}
