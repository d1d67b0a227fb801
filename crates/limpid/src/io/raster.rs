//! Colour and alpha: the contents of every format but EXR.

use super::{Format, Origin};
use crate::memory::{self, in_words};
use crate::{Error, Frame, Image, Kind, Result, Size, linear_to_srgb, srgb_to_linear};
use rayon::prelude::*;
use std::path::Path;

/// Whether colour values are linear light or encoded for a display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// Linear light.
    Linear,
    /// As encoded in the file of a photograph, usually with the sRGB curve, 0 … 1.
    Encoded,
}

/// Colour and alpha of one picture.
#[derive(Debug)]
pub(super) struct Raster {
    pub(super) color: Image,
    pub(super) alpha: Option<Image>,
}

impl Raster {
    /// A raster from interleaved samples: grey, grey and alpha, colour, colour and alpha.
    pub(super) fn from_interleaved(size: Size, channels: usize, samples: &[f32]) -> Result<Self> {
        let image = Image::from_interleaved(size.width, size.height, channels, samples)?;
        let colors = if channels >= 3 { 3 } else { 1 };
        let count = size.pixels();
        let mut planes = image.into_data();
        let alpha = match channels > colors {
            true => {
                let mut alpha = Image::try_new(size.width, size.height, 1)?;
                let plane = &planes[colors * count..(colors + 1) * count];
                alpha.data_mut().copy_from_slice(plane);
                Some(alpha)
            }
            false => None,
        };
        planes.truncate(colors * count);
        Ok(Self {
            color: Image::from_planes(size.width, size.height, colors, planes)?,
            alpha,
        })
    }

    /// The same from samples of 8 bits.
    pub(super) fn from_bytes(size: Size, channels: usize, samples: &[u8]) -> Result<Self> {
        let mut values = memory::zeroed(samples.len())?;
        let pairs = values.par_iter_mut().zip(samples);
        pairs.for_each(|(to, v)| *to = f32::from(*v) / 255.0);
        Self::from_interleaved(size, channels, &values)
    }

    pub(super) fn into_frame(self) -> Result<Frame> {
        let mut frame = Frame::new(self.color)?;
        if let Some(alpha) = self.alpha {
            frame.insert(Kind::Alpha, alpha)?;
        }
        Ok(frame)
    }

    /// The colour and alpha of a frame as a format stores them: linear or encoded, premultiplied or not.
    ///
    /// A frame without alpha gets that of its origin.
    pub(super) fn from_frame(
        frame: &Frame,
        origin: Option<&Origin>,
        (from, to): (Transfer, Transfer),
        path: &Path,
    ) -> Result<Self> {
        let about = |e: Error| Error::input(format!("{}: {e}", path.display()));
        let color = frame.color().map_err(about)?;
        let mut raster = Self {
            color: color.clone(),
            alpha: alpha(frame, origin),
        };
        match (from, to) {
            (Transfer::Linear, Transfer::Encoded) => {
                raster.scale_by_alpha(|a| if a > 0.0 { 1.0 / a } else { 1.0 });
                raster.color = raster.color.map(|v| linear_to_srgb(v).clamp(0.0, 1.0));
            }
            (Transfer::Encoded, Transfer::Linear) => {
                raster.color = raster.color.map(srgb_to_linear);
                raster.scale_by_alpha(|a| a);
            }
            _ => {}
        }
        Ok(raster)
    }

    /// Linear formats store premultiplied colour, encoded ones straight alpha.
    fn scale_by_alpha(&mut self, factor: impl Fn(f32) -> f32) {
        let Some(alpha) = &self.alpha else { return };
        for c in 0..self.color.channels() {
            let pairs = self.color.plane_mut(c).iter_mut().zip(alpha.plane(0));
            pairs.for_each(|(v, a)| *v *= factor(*a));
        }
    }

    /// Channels with the alpha, side by side.
    pub(super) fn to_interleaved(&self) -> Result<(usize, Vec<f32>)> {
        let colors = self.color.channels();
        let channels = colors + usize::from(self.alpha.is_some());
        let count = self.color.size().pixels();
        let mut out = memory::zeroed(channels * count)?;
        let planes = self
            .color
            .planes()
            .chain(self.alpha.iter().flat_map(Image::planes));
        for (c, plane) in planes.enumerate() {
            let slots = out.iter_mut().skip(c).step_by(channels);
            slots.zip(plane).for_each(|(o, v)| *o = *v);
        }
        Ok((channels, out))
    }

    pub(super) fn size(&self) -> Size {
        self.color.size()
    }
}

/// The alpha of a frame, or else that of its source.
pub(super) fn alpha(frame: &Frame, origin: Option<&Origin>) -> Option<Image> {
    let own = frame.get(Kind::Alpha).cloned();
    own.or_else(|| {
        let alpha = origin.and_then(Origin::alpha);
        alpha.filter(|a| a.size() == frame.size())
    })
}

/// A note on what a format cannot store.
pub(super) fn left_out(frame: &Frame, format: Format) -> Option<String> {
    let lost: Vec<String> = frame
        .layers()
        .filter(|(l, _)| !matches!(l.to_string().as_str(), "color" | "alpha"))
        .map(|(l, _)| l.to_string())
        .collect();
    (!lost.is_empty()).then(|| {
        format!(
            "{format} stores only colour; not written: {}",
            lost.join(", ")
        )
    })
}

/// A note if alpha is not opaque and the format cannot store it.
pub(super) fn no_alpha(alpha: Option<&Image>, format: Format) -> Option<String> {
    let transparent = alpha?.data().iter().any(|a| *a < 1.0);
    transparent.then(|| format!("{format} has no alpha; it is not written"))
}

/// Converts 0 … 1 to integers up to `max`, rounding to nearest; NaN becomes 0.
pub(super) fn quantise(v: f32, max: f32) -> f32 {
    (v.clamp(0.0, 1.0) * max).round()
}

/// Refuses images that are too large for a format's header.
pub(super) fn check_longest(size: Size, longest: usize, format: &str, path: &Path) -> Result<()> {
    if size.width.max(size.height) > longest {
        let path = path.display();
        return Err(Error::unsupported(format!(
            "{path}: {size} is too large for {format}, whose longest side is {longest}"
        )));
    }
    Ok(())
}

/// Refuses pixels that the system has no memory for, where a decoder would end the program for lack of it.
pub(super) fn check_memory(size: Size, channels: usize) -> Result<()> {
    let bytes = channels.saturating_mul(4).saturating_mul(size.pixels());
    memory::check(bytes as u64)
}

/// Refuses implausible sizes before memory is allocated.
pub(super) fn check_size(
    (width, height, channels): (u64, u64, u64),
    limit: u64,
    path: &Path,
) -> Result<Size> {
    if width == 0 || height == 0 {
        return Err(Error::input(format!(
            "{}: the image is {width}x{height}; at least 1x1 is needed",
            path.display()
        )));
    }
    let bytes = width
        .checked_mul(height)
        .and_then(|p| p.checked_mul(channels))
        .and_then(|v| v.checked_mul(4));
    match (usize::try_from(width), usize::try_from(height), bytes) {
        (Ok(width), Ok(height), Some(bytes)) if bytes <= limit => Ok(Size::new(width, height)),
        _ => Err(Error::input(format!(
            "{}: {width}x{height} with {channels} channels is more than the limit of {}",
            path.display(),
            in_words(limit)
        ))),
    }
}
