//! Which format a file has.

use crate::{Error, Result};
use std::fmt;
use std::path::Path;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// OpenEXR: parts, layers, half, float and integer samples.
    Exr,
    /// PNG, 8 and 16 bit.
    Png,
    /// TIFF, 8 and 16 bit and float.
    Tiff,
    /// JPEG.
    Jpeg,
    /// Radiance HDR (RGBE).
    Hdr,
    /// Portable float map.
    Pfm,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::Exr,
        Self::Png,
        Self::Tiff,
        Self::Jpeg,
        Self::Hdr,
        Self::Pfm,
    ];

    /// The extensions of this format, the usual one first.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Exr => &["exr"],
            Self::Png => &["png"],
            Self::Tiff => &["tif", "tiff"],
            Self::Jpeg => &["jpg", "jpeg", "jpe"],
            Self::Hdr => &["hdr", "pic", "rgbe"],
            Self::Pfm => &["pfm"],
        }
    }

    /// The format that a path's extension asks for. This is what [`write`](super::write) follows.
    ///
    /// ```
    /// use limpid::io::Format;
    /// assert_eq!(Format::from_path("a/b.EXR".as_ref())?, Format::Exr);
    /// assert!(Format::from_path("a/b.gif".as_ref()).is_err());
    /// # Ok::<(), limpid::Error>(())
    /// ```
    pub fn from_path(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        Self::from_extension(extension).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL
                .iter()
                .flat_map(|f| f.extensions())
                .copied()
                .collect();
            let known = known.join(", ");
            let path = path.display();
            Error::unsupported(match extension {
                "" => {
                    format!("{path}: no extension, so the format is not known; use one of: {known}")
                }
                e => {
                    format!("{path}: '{e}' is not a format that is known here; use one of: {known}")
                }
            })
        })
    }

    pub(super) fn from_extension(extension: &str) -> Option<Self> {
        let lower = extension.to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|f| f.extensions().contains(&lower.as_str()))
    }

    /// The format that the first bytes of a file show.
    pub fn from_content(bytes: &[u8]) -> Option<Self> {
        let starts = |magic: &[u8]| bytes.starts_with(magic);
        if starts(&[0x76, 0x2f, 0x31, 0x01]) {
            Some(Self::Exr)
        } else if starts(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if starts(b"II*\0") || starts(b"MM\0*") || starts(b"II+\0") || starts(b"MM\0+") {
            Some(Self::Tiff)
        } else if starts(&[0xff, 0xd8, 0xff]) {
            Some(Self::Jpeg)
        } else if starts(b"#?") {
            Some(Self::Hdr)
        } else if (starts(b"PF") || starts(b"Pf"))
            && bytes.get(2).is_some_and(u8::is_ascii_whitespace)
        {
            Some(Self::Pfm)
        } else {
            None
        }
    }

    /// Whether files of this format hold linear light rather than values encoded for a display.
    pub fn is_linear(self) -> bool {
        matches!(self, Self::Exr | Self::Hdr | Self::Pfm)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exr => "OpenEXR",
            Self::Png => "PNG",
            Self::Tiff => "TIFF",
            Self::Jpeg => "JPEG",
            Self::Hdr => "Radiance HDR",
            Self::Pfm => "PFM",
        })
    }
}
