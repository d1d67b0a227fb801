//! A file that was read, and what of it must survive.

use super::{Format, Transfer, exr, hdr, jpeg, pfm, png, tiff};
use crate::{Frame, Image, Kind};
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
    pub(super) body: Arc<Body>,
}

#[derive(Debug)]
pub(super) enum Body {
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
pub(super) enum Kept {
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
        match &*self.body {
            Body::Exr { source, .. } => source.text(name),
            Body::Raster { .. } => None,
        }
    }

    /// The alpha that the file had.
    pub(super) fn alpha(&self) -> Option<Image> {
        match &*self.body {
            Body::Exr { source, layers } => {
                let mapped = layers.iter().find(|m| m.layer == Kind::Alpha.into())?;
                source.image(mapped).ok()
            }
            Body::Raster { alpha, .. } => alpha.clone(),
        }
    }
}

impl Kept {
    pub(super) fn png(&self) -> Option<&png::Kept> {
        match self {
            Self::Png(kept) => Some(kept),
            _ => None,
        }
    }

    pub(super) fn tiff(&self) -> Option<&tiff::Kept> {
        match self {
            Self::Tiff(kept) => Some(kept),
            _ => None,
        }
    }

    pub(super) fn jpeg(&self) -> Option<&jpeg::Kept> {
        match self {
            Self::Jpeg(kept) => Some(kept),
            _ => None,
        }
    }

    pub(super) fn hdr(&self) -> Option<&hdr::Kept> {
        match self {
            Self::Hdr(kept) => Some(kept),
            _ => None,
        }
    }

    pub(super) fn pfm(&self) -> Option<&pfm::Kept> {
        match self {
            Self::Pfm(kept) => Some(kept),
            _ => None,
        }
    }
}
