//! The interface of a file format: a [`Codec`], one row in the table of [`Format`].

use super::raster::{self, Raster, Transfer};
use super::{Facts, Format, Origin, Picture, ReadOptions, WriteOptions};
use limpid_core::{Frame, Image, Result};
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A file format: how its files are recognised, read and written.
pub(super) struct Codec {
    /// Its display name.
    pub(super) name: &'static str,
    /// Its extensions, the usual one first.
    pub(super) extensions: &'static [&'static str],
    /// Whether the first bytes of a file belong to this format.
    pub(super) begins: fn(&[u8]) -> bool,
    /// Whether the colour of a new file is linear or encoded.
    pub(super) transfer: Transfer,
    /// Which layers it can store.
    pub(super) holds: Holds,
    /// Reads a whole file.
    pub(super) read: fn(Cow<'_, [u8]>, &Path, &ReadOptions) -> Result<Content>,
    /// Describes a file, if that is possible without reading its pixels.
    pub(super) inspect: Option<Inspect>,
    /// Encodes a file. Returns notes, too.
    pub(super) write: fn(&Page<'_>) -> Result<Written>,
}

/// Describes a file.
pub(super) type Inspect = fn(&[u8], &Path, &ReadOptions) -> Result<Facts>;

/// The bytes of a file, and notes.
pub(super) type Written = (Vec<u8>, Vec<String>);

/// Which layers a format can store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// All layers of a frame.
    Layers,
    /// Colour and alpha.
    Alpha,
    /// Colour.
    Color,
}

/// The data of a file that is preserved besides the layers of its frame, in the format's own form.
pub(super) trait Extras: fmt::Debug + Any + Send + Sync {
    /// Whether the colour of the file is linear or encoded.
    fn transfer(&self) -> Transfer;

    /// The sample type, as text.
    fn sample(&self) -> &'static str {
        ""
    }

    /// Whether the file stores display values of more than 8 bits, which a new file then keeps.
    fn is_deep(&self) -> bool {
        false
    }

    /// The compression, as text.
    fn compression(&self) -> String {
        String::new()
    }

    /// The names of preserved data.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// A text attribute of the file.
    fn text(&self, _name: &str) -> Option<String> {
        None
    }

    /// The EXIF data of the file.
    fn exif(&self) -> Option<&[u8]> {
        None
    }

    /// The colour profile of display values.
    fn profile(&self) -> Option<Vec<u8>> {
        None
    }

    /// How the picture has to be turned to be upright, as in EXIF data.
    fn orientation(&self) -> u16 {
        self.exif().and_then(super::exif::orientation).unwrap_or(1)
    }

    /// The ISO speed, by default that of the EXIF data.
    fn iso(&self) -> Option<u32> {
        self.exif().and_then(super::exif::iso)
    }

    /// The alpha of the file.
    fn alpha(&self) -> Option<Image> {
        None
    }
}

/// The contents of a file.
pub(super) struct Content {
    pub(super) frame: Frame,
    pub(super) kept: Arc<dyn Extras>,
    /// The alpha of a raster, for frames without alpha.
    pub(super) alpha: Option<Image>,
    pub(super) notes: Vec<String>,
}

impl Content {
    /// Content from colour and alpha, other preserved data, and notes.
    pub(super) fn of(
        (raster, kept, notes): (Raster<'_>, impl Extras, Vec<String>),
    ) -> Result<Self> {
        let alpha = raster.alpha.clone();
        Ok(Self {
            frame: raster.into_frame()?,
            kept: Arc::new(kept),
            alpha,
            notes,
        })
    }

    /// The file as a picture.
    pub(super) fn picture(mut self, format: Format, path: &Path) -> Picture {
        self.frame.set_iso(self.kept.iso());
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

/// What belongs to display values in any format that holds it.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// The colour profile.
    pub(super) profile: Option<Vec<u8>>,
    /// EXIF data: a small TIFF file.
    pub(super) exif: Option<Vec<u8>>,
    /// How the picture has to be turned, as in EXIF data.
    pub(super) orientation: u16,
}

/// A frame to be written.
pub(super) struct Page<'a> {
    pub(super) frame: &'a Frame,
    pub(super) origin: Option<&'a Origin>,
    pub(super) options: &'a WriteOptions,
    /// Which layers the format can store.
    pub(super) holds: Holds,
    /// For messages.
    pub(super) path: &'a Path,
}

impl Page<'_> {
    /// Whether the colour of the frame is linear or encoded.
    pub(super) fn transfer(&self) -> Transfer {
        let origin = self.origin.map(Origin::transfer);
        origin.or(self.options.transfer).unwrap_or(Transfer::Linear)
    }

    /// Colour and alpha, linear or encoded.
    pub(super) fn raster(&self, to: Transfer) -> Result<Raster<'_>> {
        let opaque = self.holds == Holds::Color;
        let transfers = (self.transfer(), to);
        let view = (self.options.view, self.options.exposure);
        Raster::from_frame(
            self.frame,
            self.origin,
            transfers,
            (opaque, view),
            self.path,
        )
    }

    /// Encodes a file of colour and alpha, linear or encoded, with a format's function that also takes the preserved data.
    pub(super) fn file<K: Extras>(
        &self,
        to: Transfer,
        encode: impl FnOnce(&Raster, Option<&K>) -> Result<Vec<u8>>,
    ) -> Result<Written> {
        Ok((encode(&self.raster(to)?, self.kept())?, Vec::new()))
    }

    /// The preserved data of the source, if it has the same format.
    pub(super) fn kept<K: Extras>(&self) -> Option<&K> {
        let kept: &dyn Any = self.origin?.kept.as_ref();
        kept.downcast_ref()
    }

    /// What a source of another format says about its display values, for formats that hold it.
    pub(super) fn passed(&self) -> Passed {
        let Some(origin) = self.origin.filter(|o| o.transfer() == Transfer::Encoded) else {
            return Passed::default();
        };
        let exif = origin.kept.exif().map(super::exif::plain);
        let orientation = origin.kept.orientation();
        let turned = || (orientation != 1).then(|| super::exif::turned(orientation));
        Passed {
            profile: origin.kept.profile(),
            exif: exif.map(<[u8]>::to_vec).or_else(turned),
            orientation,
        }
    }

    /// Whether the source has display values of more than 8 bits.
    pub(super) fn is_deep(&self) -> bool {
        self.origin.is_some_and(|origin| origin.kept.is_deep())
    }

    /// Notes on data that a format cannot store.
    pub(super) fn lost(&self, format: Format) -> Vec<String> {
        let holds = format.codec().holds;
        let mut notes = Vec::new();
        if holds != Holds::Layers {
            notes.extend(raster::left_out(self.frame, format));
        }
        let transfer = format.codec().transfer;
        if let Some(origin) = self.origin
            && origin.kept.orientation() != 1
            && (transfer, origin.transfer()) == (Transfer::Linear, Transfer::Encoded)
            && format != Format::Tiff
        {
            notes.push(format!(
                "{format} does not store that the picture has to be turned"
            ));
        }
        if holds == Holds::Color {
            let alpha = raster::alpha(self.frame, self.origin);
            notes.extend(raster::no_alpha(alpha.as_ref(), format));
        }
        notes
    }
}

/// Notes, prefixed with their file.
pub(super) fn tell(path: &Path, notes: Vec<String>) -> Vec<String> {
    let about = |n| format!("{}: {n}", path.display());
    notes.into_iter().map(about).collect()
}
