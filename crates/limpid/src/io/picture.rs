//! A file that was read, and what of it must survive.

use super::codec::Kept;
use super::{Format, Transfer};
use crate::{Frame, Image};
use std::sync::Arc;

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
    pub(super) format: Format,
    pub(super) kept: Arc<dyn Kept>,
    pub(super) alpha: Option<Image>,
}

impl Origin {
    /// The file's format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the frame's colour is light or encoded.
    pub fn transfer(&self) -> Transfer {
        self.kept.transfer()
    }

    /// A text attribute of the file, if it has one of this name. Only EXR files do.
    ///
    /// ```
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

    /// The alpha that the file had.
    pub(super) fn alpha(&self) -> Option<Image> {
        self.alpha.clone().or_else(|| self.kept.alpha())
    }
}
