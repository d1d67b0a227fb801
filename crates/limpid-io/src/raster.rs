//! Colour and alpha: the contents of every format except EXR.

use super::{Format, Origin, View};
use bytemuck::Zeroable;
use limpid_core::memory;
use limpid_core::memory::in_words;
use limpid_core::{Error, Frame, Image, Kind, Result, Size, linear_to_srgb, srgb_to_linear};
use rayon::prelude::*;
use std::borrow::Cow;
use std::path::Path;

/// Whether colour values are linear light or encoded for a display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// Linear light.
    Linear,
    /// As encoded in the file of a photograph, usually with the sRGB curve, 0 … 1.
    Encoded,
}

/// Where alpha is less than this, which 8 bits round to 0, light is no longer divided by it and fades to black: a filter leaves
/// traces of light and alpha in clear areas, whose quotient is a colour that nothing in the picture has.
const CLEAR: f32 = 0.5 / 255.0;

/// The factor from light that is premultiplied by alpha to straight light.
fn straight(alpha: f32) -> f32 {
    match alpha < CLEAR {
        true => alpha.max(0.0) / (CLEAR * CLEAR),
        false => 1.0 / alpha,
    }
}

/// Colour and alpha of one picture.
#[derive(Debug)]
pub(super) struct Raster<'a> {
    pub(super) color: Cow<'a, Image>,
    pub(super) alpha: Option<Image>,
}

impl<'a> Raster<'a> {
    /// A raster from interleaved samples: grey, grey and alpha, colour, colour and alpha.
    pub(super) fn from_interleaved(size: Size, channels: usize, samples: &[f32]) -> Result<Self> {
        Self::from_samples(size, channels, samples, |v| v)
    }

    /// The same from samples of 8 bits.
    pub(super) fn from_bytes(size: Size, channels: usize, samples: &[u8]) -> Result<Self> {
        Self::from_samples(size, channels, samples, |v| f32::from(v) / 255.0)
    }

    /// The same from any samples, converted by a function.
    pub(super) fn from_samples<T: Copy + Sync>(
        size: Size,
        channels: usize,
        samples: &[T],
        value: impl Fn(T) -> f32 + Sync,
    ) -> Result<Self> {
        let colors = if channels >= 3 { 3 } else { 1 };
        if samples.len() != channels * size.pixels() {
            return Err(Error::mismatch(format!(
                "{} samples for {size} with {channels} channels",
                samples.len()
            )));
        }
        let fill = |plane: &mut [f32], c: usize| {
            let parts = plane.par_chunks_mut(PART);
            let parts = parts.zip(samples.par_chunks(PART * channels));
            parts.for_each(|(plane, samples)| {
                for (to, pixel) in plane.iter_mut().zip(samples.chunks_exact(channels)) {
                    *to = value(pixel[c]);
                }
            });
        };
        let mut color = Image::try_new(size.width, size.height, colors)?;
        for c in 0..colors {
            fill(color.plane_mut(c), c);
        }
        let mut alpha = None;
        if channels > colors {
            let mut image = Image::try_new(size.width, size.height, 1)?;
            fill(image.plane_mut(0), colors);
            alpha = Some(image);
        }
        Ok(Self {
            color: Cow::Owned(color),
            alpha,
        })
    }

    pub(super) fn into_frame(self) -> Result<Frame> {
        let mut frame = Frame::new(self.color.into_owned())?;
        if let Some(alpha) = self.alpha {
            frame.insert(Kind::Alpha, alpha)?;
        }
        Ok(frame)
    }

    /// The colour and alpha of a frame in the form that a format stores: linear or encoded, premultiplied or not.
    ///
    /// A frame without alpha gets that of its origin. In an `opaque` format light stays premultiplied: it is seen before black.
    pub(super) fn from_frame(
        frame: &'a Frame,
        origin: Option<&Origin>,
        (from, to): (Transfer, Transfer),
        (opaque, (view, exposure)): (bool, (View, f32)),
        path: &Path,
    ) -> Result<Self> {
        let about = |e: Error| Error::input(format!("{}: {e}", path.display()));
        let color = frame.color().map_err(about)?;
        let mut raster = Self {
            color: Cow::Borrowed(color),
            alpha: alpha(frame, origin),
        };
        match (from, to) {
            (Transfer::Linear, Transfer::Encoded) => {
                if !opaque {
                    raster.scale_by_alpha(straight);
                }
                raster.show(view, exposure.exp2());
            }
            (Transfer::Encoded, Transfer::Linear) => {
                raster.convert(srgb_to_linear);
                raster.scale_by_alpha(|a| a);
            }
            _ => {}
        }
        Ok(raster)
    }

    /// Light as display values.
    fn show(&mut self, view: View, gain: f32) {
        let color = self.color.to_mut();
        let pixels = color.size().pixels();
        if view == View::Srgb || color.channels() != 3 {
            let shown = |v: f32| match view {
                View::Srgb => linear_to_srgb(gain * v).clamp(0.0, 1.0),
                view => view.shown([gain * v; 3])[0],
            };
            return self.convert(shown);
        }
        let (red, rest) = color.data_mut().split_at_mut(pixels);
        let (green, blue) = rest.split_at_mut(pixels);
        let parts = (red.par_chunks_mut(PART)).zip(green.par_chunks_mut(PART));
        parts
            .zip(blue.par_chunks_mut(PART))
            .for_each(|((red, green), blue)| {
                for ((r, g), b) in red.iter_mut().zip(green).zip(blue) {
                    [*r, *g, *b] = view.shown([gain * *r, gain * *g, gain * *b]);
                }
            });
    }

    /// Applies a function to each value of the colour.
    fn convert(&mut self, f: impl Fn(f32) -> f32 + Sync) {
        let parts = self.color.to_mut().data_mut().par_chunks_mut(PART);
        parts.for_each(|part| part.iter_mut().for_each(|v| *v = f(*v)));
    }

    /// Linear formats store premultiplied colour, encoded ones straight alpha.
    fn scale_by_alpha(&mut self, factor: impl Fn(f32) -> f32) {
        let Some(alpha) = &self.alpha else { return };
        let color = self.color.to_mut();
        for c in 0..color.channels() {
            let pairs = color.plane_mut(c).iter_mut().zip(alpha.plane(0));
            pairs.for_each(|(v, a)| *v *= factor(*a));
        }
    }

    /// Display values that a file stores multiplied by alpha, as straight ones.
    pub(super) fn straight(mut self) -> Self {
        self.scale_by_alpha(|a| if a > 0.0 { 1.0 / a } else { 1.0 });
        self
    }

    /// The opposite of [`Self::straight`]: clear pixels have no colour.
    pub(super) fn premultiplied(mut self) -> Self {
        self.scale_by_alpha(|a| a);
        self
    }

    /// The number of channels including alpha, and their interleaved samples, converted by a function.
    pub(super) fn samples<T: Copy + Zeroable + Send>(
        &self,
        sample: impl Fn(f32) -> T + Sync,
    ) -> Result<(usize, Vec<T>)> {
        let planes = self.color.planes();
        let planes: Vec<&[f32]> = planes
            .chain(self.alpha.iter().flat_map(Image::planes))
            .collect();
        Ok((planes.len(), interleaved(&planes, sample)?))
    }

    pub(super) fn size(&self) -> Size {
        self.color.size()
    }
}

/// Pixels that one thread converts at a time.
const PART: usize = 1 << 14;

/// Interleaved samples of planes, converted by a function.
pub(super) fn interleaved<T: Copy + Zeroable + Send>(
    planes: &[&[f32]],
    sample: impl Fn(f32) -> T + Sync,
) -> Result<Vec<T>> {
    let channels = planes.len();
    let pixels = planes.first().map_or(0, |p| p.len());
    let mut out = memory::zeroed(channels * pixels)?;
    let parts = out.par_chunks_mut((PART * channels).max(1)).enumerate();
    parts.for_each(|(part, out)| {
        for (c, plane) in planes.iter().enumerate() {
            let to = out[c..].iter_mut().step_by(channels);
            for (to, from) in to.zip(&plane[part * PART..]) {
                *to = sample(*from);
            }
        }
    });
    Ok(out)
}

/// The alpha of a frame, or that of its source.
pub(super) fn alpha(frame: &Frame, origin: Option<&Origin>) -> Option<Image> {
    let own = frame.get(Kind::Alpha).cloned();
    own.or_else(|| {
        let alpha = origin.and_then(Origin::alpha);
        alpha.filter(|a| a.size() == frame.size())
    })
}

/// A note on data that a format cannot store.
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

/// The 8-bit sample of a value.
pub(super) fn byte(v: f32) -> u8 {
    quantise(v, 255.0) as u8
}

/// Converts 0 … 1 to integers up to `max`, rounding to nearest; NaN becomes 0.
pub(super) fn quantise(v: f32, max: f32) -> f32 {
    (v.clamp(0.0, 1.0) * max).round()
}

/// Rejects images that are too large for a format's header.
pub(super) fn check_longest(size: Size, longest: usize, format: &str, path: &Path) -> Result<()> {
    if size.width.max(size.height) > longest {
        let path = path.display();
        return Err(Error::unsupported(format!(
            "{path}: {size} is too large for {format}, whose longest side is {longest}"
        )));
    }
    Ok(())
}

/// Rejects images for which memory is exhausted, since a decoder would abort the program.
pub(super) fn check_memory(size: Size, channels: usize) -> Result<()> {
    let bytes = channels.saturating_mul(4).saturating_mul(size.pixels());
    memory::check(bytes as u64)
}

/// Rejects implausible sizes before memory is allocated.
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
        _ => Err(Error::too_large(format!(
            "{}: {width}x{height} with {channels} channels is more than the limit of {}; raise the limit, or make the image smaller",
            path.display(),
            in_words(limit)
        ))),
    }
}
