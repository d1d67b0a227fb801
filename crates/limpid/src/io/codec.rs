//! What a file format is: a [`Codec`], one row in the table of [`Format`].

use super::raster::{self, Raster, Transfer};
use super::{Facts, Format, Origin, Picture, ReadOptions, WriteOptions};
use crate::{Frame, Image, Result};
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A file format: how files of it are recognised, read and written.
pub(super) struct Codec {
    /// Its display name.
    pub(super) name: &'static str,
    /// Its extensions, the usual one first.
    pub(super) extensions: &'static [&'static str],
    /// Whether a file of it begins like this.
    pub(super) begins: fn(&[u8]) -> bool,
    /// What the colour of a new file is.
    pub(super) transfer: Transfer,
    /// Which layers it can hold.
    pub(super) holds: Holds,
    /// Reads a whole file.
    pub(super) read: fn(Cow<'_, [u8]>, &Path, &ReadOptions) -> Result<Content>,
    /// Says what a file holds where that does not take reading its pixels.
    pub(super) inspect: Option<Inspect>,
    /// A file's bytes, and notes.
    pub(super) write: fn(&Page<'_>) -> Result<Written>,
}

/// Says what a file holds.
pub(super) type Inspect = fn(&[u8], &Path, &ReadOptions) -> Result<Facts>;

/// A file's bytes, and notes.
pub(super) type Written = (Vec<u8>, Vec<String>);

/// Which layers a format can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// All layers of a frame.
    Layers,
    /// Colour and alpha.
    Alpha,
    /// Colour.
    Color,
}

/// What survives of a file besides the layers of its frame, in the format's own form.
pub(super) trait Kept: fmt::Debug + Any + Send + Sync {
    /// Whether the file's colour is light or encoded.
    fn transfer(&self) -> Transfer;

    /// The type of samples, in words.
    fn sample(&self) -> &'static str {
        ""
    }

    /// How the file is compressed, in words.
    fn compression(&self) -> String {
        String::new()
    }

    /// The names of what is kept.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// A text attribute of the file.
    fn text(&self, _name: &str) -> Option<String> {
        None
    }

    /// The alpha of the file.
    fn alpha(&self) -> Option<Image> {
        None
    }
}

/// What was in a file.
pub(super) struct Content {
    pub(super) frame: Frame,
    pub(super) kept: Arc<dyn Kept>,
    /// The alpha of a raster, for frames that lost theirs.
    pub(super) alpha: Option<Image>,
    pub(super) notes: Vec<String>,
}

impl Content {
    /// Colour and alpha.
    pub(super) fn of(raster: Raster, kept: impl Kept, notes: Vec<String>) -> Result<Self> {
        let alpha = raster.alpha.clone();
        Ok(Self {
            frame: raster.into_frame()?,
            kept: Arc::new(kept),
            alpha,
            notes,
        })
    }

    /// The picture of a file.
    pub(super) fn picture(self, format: Format, path: &Path) -> Picture {
        Picture {
            frame: self.frame,
            origin: Origin {
                format,
                kept: self.kept,
                alpha: self.alpha,
            },
            notes: tell(path, self.notes),
        }
    }
}

/// A frame on its way into a file.
pub(super) struct Page<'a> {
    pub(super) frame: &'a Frame,
    pub(super) origin: Option<&'a Origin>,
    pub(super) options: &'a WriteOptions,
    /// For messages.
    pub(super) path: &'a Path,
}

impl Page<'_> {
    /// What the frame's colour is.
    pub(super) fn transfer(&self) -> Transfer {
        let origin = self.origin.map(Origin::transfer);
        origin.or(self.options.transfer).unwrap_or(Transfer::Linear)
    }

    /// Colour and alpha, as light or encoded.
    pub(super) fn raster(&self, to: Transfer) -> Result<Raster> {
        Raster::from_frame(self.frame, self.origin, (self.transfer(), to), self.path)
    }

    /// What survives of a file of the same format.
    pub(super) fn kept<K: Kept>(&self) -> Option<&K> {
        let kept: &dyn Any = self.origin?.kept.as_ref();
        kept.downcast_ref()
    }

    /// What a format cannot hold, as notes.
    pub(super) fn lost(&self, format: Format) -> Vec<String> {
        let holds = format.codec().holds;
        let mut notes = Vec::new();
        if holds != Holds::Layers {
            notes.extend(raster::left_out(self.frame, format));
        }
        if holds == Holds::Color {
            let alpha = raster::alpha(self.frame, self.origin);
            notes.extend(raster::no_alpha(alpha.as_ref(), format));
        }
        notes
    }
}

/// Notes with the file they are about.
pub(super) fn tell(path: &Path, notes: Vec<String>) -> Vec<String> {
    let about = |n| format!("{}: {n}", path.display());
    notes.into_iter().map(about).collect()
}
