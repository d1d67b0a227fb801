//! File formats.

use super::codec::Codec;
use super::{Transfer, dng, exr, hdr, jpeg, pfm, png, tiff, webp};
use limpid_core::{Error, Result};
use std::fmt;
use std::path::Path;

/// The table of formats: one row each.
macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident = $codec:path),* $(,)?) => {
        /// A file format.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])* $name),*
        }

        impl Format {
            /// Every format.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// How files of it are recognised, read and written.
            pub(super) fn codec(self) -> &'static Codec {
                match self {
                    $(Self::$name => &const { $codec }),*
                }
            }
        }
    };
}

formats! {
    /// OpenEXR: parts, layers, half, float and integer samples.
    Exr = exr::codec::CODEC,
    /// PNG, 8 and 16 bit.
    Png = png::CODEC,
    /// DNG: the values of a sensor.
    Dng = dng::CODEC,
    /// TIFF, 8 and 16 bit and float.
    Tiff = tiff::CODEC,
    /// JPEG.
    Jpeg = jpeg::CODEC,
    /// WebP, 8 bit.
    Webp = webp::CODEC,
    /// Radiance HDR (RGBE).
    Hdr = hdr::CODEC,
    /// Portable float map.
    Pfm = pfm::CODEC,
}

impl Format {
    /// The extensions of this format, the usual one first.
    pub fn extensions(self) -> &'static [&'static str] {
        self.codec().extensions
    }

    /// Whether the colour of a new file of this format is linear or encoded. Integer TIFF files have encoded colour.
    pub fn transfer(self) -> Transfer {
        self.codec().transfer
    }

    /// The format of a path's extension, which [`write`](super::write) uses.
    ///
    /// ```
    /// # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
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
                    format!("{path}: no extension, so the format is unknown; use one of: {known}")
                }
                e => {
                    format!("{path}: '{e}' is not a supported format; use one of: {known}")
                }
            })
        })
    }

    pub(super) fn from_extension(extension: &str) -> Option<Self> {
        let lower = extension.to_ascii_lowercase();
        Self::ALL
            .iter()
            .copied()
            .find(|f| f.extensions().contains(&lower.as_str()))
    }

    /// The format of a file, by its first bytes.
    pub fn from_content(bytes: &[u8]) -> Option<Self> {
        let known = Self::ALL.iter().copied();
        known.into_iter().find(|f| (f.codec().begins)(bytes))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.codec().name)
    }
}
