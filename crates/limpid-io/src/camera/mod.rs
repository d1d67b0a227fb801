//! Raw files of cameras: CR2, CR3, CRW, NEF, NRW, ARW, RAF, RW2, ORF, PEF and others.
//!
//! The `flashraw` crate decodes the values of the sensor. Everything about them becomes a DNG file in memory, uncompressed, and that is
//! read like any other: whatever works on DNG files works on these, and results are written as DNG.
//!
//! Without the feature `raw`, such files are recognised and refused.

#[cfg(feature = "raw")]
mod facts;
#[cfg(feature = "raw")]
mod mosaic;

use super::Format;
use limpid_core::{Error, Result};
use std::borrow::Cow;
use std::path::Path;

/// Extensions of raw files. Many look like TIFF files, with a small preview instead of the image.
const EXTENSIONS: [&str; 32] = [
    "3fr", "arw", "bay", "cap", "cr2", "cr3", "crw", "dcr", "dcs", "erf", "fff", "gpr", "iiq",
    "k25", "kdc", "mdc", "mef", "mos", "mrw", "nef", "nrw", "orf", "pef", "ptx", "raf", "raw",
    "rw2", "rwl", "sr2", "srf", "srw", "x3f",
];

/// Whether a file is a camera's own raw file by its name.
///
/// ```
/// # mod limpid { pub mod io { pub use limpid_io::*; } }
/// assert!(limpid::io::is_raw("IMG_0042.NEF") && !limpid::io::is_raw("IMG_0042.jpg"));
/// ```
pub fn is_raw(path: impl AsRef<Path>) -> bool {
    let extension = path.as_ref().extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| EXTENSIONS.contains(&e.to_ascii_lowercase().as_str()))
}

/// Whether the first bytes are those of a camera's raw file, and of nothing else.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let at = |place: usize, text: &[u8]| bytes.get(place..place + text.len()) == Some(text);
    let first = [
        &b"FUJIFILMCCD-RAW"[..],
        b"IIU\0",
        b"IIRO",
        b"IIRS",
        b"MMOR",
        b"FOVb",
        b"\0MRM",
    ];
    first.iter().any(|text| at(0, text))
        || at(4, b"ftypcrx ")
        || at(6, b"HEAPCCDR")
        || (at(0, b"II*\0") && at(8, b"CR\x02"))
}

/// The error for a raw file that is not read.
pub(super) fn unread(path: &Path, what: &str) -> Error {
    Error::unsupported(format!(
        "{}: {what}; convert it to DNG with dnglab or Adobe DNG Converter, or to a 16-bit TIFF with darktable-cli or rawtherapee-cli",
        path.display()
    ))
}

/// The whole file, as DNG if it is a camera's raw file.
pub(super) fn settled<'a>(
    bytes: Cow<'a, [u8]>,
    format: Format,
    path: &Path,
    limit: u64,
) -> Result<(Cow<'a, [u8]>, Format)> {
    let own = match format {
        Format::Dng => !(format.codec().begins)(&bytes) && (is_raw(path) || begins(&bytes)),
        Format::Tiff => super::tiff::is_raw(&bytes),
        _ => false,
    };
    match own {
        true => Ok((Cow::Owned(converted(&bytes, path, limit)?), Format::Dng)),
        false => Ok((bytes, format)),
    }
}

/// A camera's raw file as DNG.
#[cfg(feature = "raw")]
pub(super) fn converted(bytes: &[u8], path: &Path, limit: u64) -> Result<Vec<u8>> {
    let captured = mosaic::decode(bytes, path, limit)?;
    super::dng::converted(&captured, bytes, path)
}

/// The samples of a DNG file whose compression is not read otherwise, if it is read here.
#[cfg(feature = "raw")]
pub(super) fn samples(bytes: &[u8], size: [usize; 3], path: &Path) -> Result<Vec<u16>> {
    mosaic::samples(bytes, size, path)
}

#[cfg(not(feature = "raw"))]
pub(super) fn samples(_: &[u8], _: [usize; 3], path: &Path) -> Result<Vec<u16>> {
    Err(unread(
        path,
        "a DNG file with VC-5 compression, which this build does not read",
    ))
}

#[cfg(not(feature = "raw"))]
pub(super) fn converted(_: &[u8], path: &Path, _: u64) -> Result<Vec<u8>> {
    Err(unread(
        path,
        "a camera's own raw file, which this build does not read",
    ))
}
