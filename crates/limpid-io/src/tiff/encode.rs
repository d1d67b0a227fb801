//! Writing TIFF files.

use super::super::codec::Passed;
use super::super::raster::{Raster, byte, quantise};
use super::super::{Bits, WriteOptions};
use super::{PROFILE, Sample, TiffExtras};
use ::tiff::encoder::colortype::{
    ColorType as Encoded, Gray8, Gray16, Gray32Float, RGB8, RGB16, RGB32Float,
};
use ::tiff::encoder::{Compression, DeflateLevel, TiffEncoder, TiffValue};
use ::tiff::tags::{ExtraSamples, Tag};
use limpid_core::{Error, Result};
use std::io::Cursor;
use std::path::Path;

/// Encodes a file.
pub(super) fn write(
    raster: &Raster<'_>,
    (kept, passed): (Option<&TiffExtras>, Passed),
    options: &WriteOptions,
    path: &Path,
) -> Result<Vec<u8>> {
    let sample = sample(kept, options);
    let grey = raster.color.channels() == 1;
    let lines = options.texts.iter().map(|(key, value)| {
        let value = value.replace(['\r', '\n'], " ");
        format!("{key}={value}\n")
    });
    let writer = Writer {
        kept,
        passed,
        text: lines.collect(),
        size: raster.size(),
        alpha: raster.alpha.is_some(),
        float: sample == Sample::Float,
        associated: match kept {
            Some(kept) if kept.sample.transfer() == sample.transfer() => kept.associated,
            _ => sample == Sample::Float,
        },
    };
    let written = match sample {
        Sample::Eight => {
            let (_, data) = raster.samples(byte)?;
            if grey {
                writer.image::<Gray8>(&data)
            } else {
                writer.image::<RGB8>(&data)
            }
        }
        Sample::Sixteen => {
            let (_, data) = raster.samples(|v| quantise(v, 65535.0) as u16)?;
            if grey {
                writer.image::<Gray16>(&data)
            } else {
                writer.image::<RGB16>(&data)
            }
        }
        Sample::Float => {
            let (_, data) = raster.samples(|v| v)?;
            if grey {
                writer.image::<Gray32Float>(&data)
            } else {
                writer.image::<RGB32Float>(&data)
            }
        }
    };
    written.map_err(|e| {
        Error::unsupported(format!(
            "{}: cannot be written as TIFF: {e}",
            path.display()
        ))
    })
}

/// The sample type that will be written.
pub(super) fn sample(kept: Option<&TiffExtras>, options: &WriteOptions) -> Sample {
    match options.bits {
        Some(Bits::Eight) => Sample::Eight,
        Some(Bits::Sixteen) => Sample::Sixteen,
        None => kept.map_or(Sample::Float, |k| k.sample),
    }
}

struct Writer<'a> {
    kept: Option<&'a TiffExtras>,
    passed: Passed,
    /// The description, if it is not that of the source.
    text: String,
    size: limpid_core::Size,
    alpha: bool,
    float: bool,
    /// Whether colour is premultiplied by alpha.
    associated: bool,
}

impl Writer<'_> {
    fn image<C: Encoded>(&self, data: &[C::Inner]) -> ::tiff::TiffResult<Vec<u8>>
    where
        [C::Inner]: TiffValue,
    {
        let mut file = Cursor::new(Vec::new());
        let compression = self
            .kept
            .map_or(Compression::Deflate(DeflateLevel::Balanced), |k| {
                k.compression
            });
        let mut encoder = TiffEncoder::new(&mut file)?.with_compression(compression);
        let (width, height) = (self.size.width.try_into()?, self.size.height.try_into()?);
        let mut image = encoder.new_image::<C>(width, height)?;
        if self.alpha {
            image.extra_samples(&[if self.associated {
                ExtraSamples::AssociatedAlpha
            } else {
                ExtraSamples::UnassociatedAlpha
            }])?;
        }
        for (tag, value) in self.kept.iter().flat_map(|k| &k.tags) {
            image.encoder().write_tag_buf(*tag, value)?;
        }
        if self.kept.is_none() && !self.float {
            let Passed {
                profile,
                orientation,
                ..
            } = &self.passed;
            if *orientation > 1 {
                image.encoder().write_tag(Tag::Orientation, *orientation)?;
            }
            if let Some(profile) = profile {
                let tag = Tag::from_u16_exhaustive(PROFILE);
                image.encoder().write_tag(tag, profile.as_slice())?;
            }
        }
        // A tag is text of 7 bits.
        if !self.text.is_empty() && self.text.is_ascii() {
            let text = self.text.as_str();
            image.encoder().write_tag(Tag::ImageDescription, text)?;
        }
        image.write_data(data)?;
        Ok(file.into_inner())
    }
}
