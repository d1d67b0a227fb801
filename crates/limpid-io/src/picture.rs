//! A file that was read, and the data to be preserved.

use super::codec::Extras;
use super::{Format, Transfer};
use limpid_core::{Frame, Image};
use std::sync::Arc;

/// A file that was read.
#[derive(Debug)]
#[non_exhaustive]
pub struct Picture {
    /// The layers that were recognised.
    pub frame: Frame,
    /// Everything that is preserved when the frame is written again.
    pub origin: Origin,
    /// Notes for the user: choices among layers, things that cannot be preserved.
    pub notes: Vec<String>,
}

/// The origin of a frame: everything in its file that is preserved. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Origin {
    pub(super) format: Format,
    pub(super) kept: Arc<dyn Extras>,
    pub(super) alpha: Option<Image>,
}

impl Origin {
    /// The file's format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the colour of the frame is linear or encoded.
    pub fn transfer(&self) -> Transfer {
        self.kept.transfer()
    }

    /// The text attribute with this name, if it exists: of an EXR or PNG file, or a line `name=value` in the description of a TIFF
    /// file.
    ///
    /// ```
    /// # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
    /// use limpid::{Frame, Image, io};
    /// let path = std::env::temp_dir().join("limpid-text-example.exr");
    /// let mut options = io::WriteOptions::default();
    /// options.texts.push(("shot".to_owned(), "the long one".to_owned()));
    /// io::write(&path, &Frame::new(Image::new(2, 2, 3))?, None, &options)?;
    /// let origin = io::read(&path, &io::ReadOptions::default())?.origin;
    /// assert_eq!(origin.text("shot").as_deref(), Some("the long one"));
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), limpid::Error>(())
    /// ```
    pub fn text(&self, name: &str) -> Option<String> {
        self.kept.text(name)
    }

    /// The ISO speed that a camera wrote into the EXIF data of a JPEG, PNG, WebP or DNG file.
    pub fn iso(&self) -> Option<u32> {
        self.kept.iso()
    }

    /// The alpha of the file.
    pub(super) fn alpha(&self) -> Option<Image> {
        self.alpha.clone().or_else(|| self.kept.alpha())
    }
}
