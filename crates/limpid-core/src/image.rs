//! Planar `f32` pixels.

use crate::memory;
use crate::memory::AlignedVec;
use crate::{Error, Result};
use rayon::prelude::*;

/// Width and height in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Size {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Size {
    /// A size from width and height.
    pub const fn new(width: usize, height: usize) -> Self {
        Self { width, height }
    }

    /// Number of pixels; the largest number if there are more.
    #[inline]
    pub const fn pixels(self) -> usize {
        self.width.saturating_mul(self.height)
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl std::str::FromStr for Size {
    type Err = Error;

    /// Parses `1920x1080`.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::input(format!(
                "'{text}' is not a size; expected WIDTHxHEIGHT, such as 1920x1080"
            ))
        };
        let (w, h) = text.split_once(['x', 'X', '×']).ok_or_else(wrong)?;
        match (w.trim().parse(), h.trim().parse()) {
            (Ok(width), Ok(height)) if width > 0 && height > 0 => Ok(Self { width, height }),
            _ => Err(wrong()),
        }
    }
}

/// An image: planes of `f32` one after the other, rows from top to bottom, no padding.
///
/// ```
/// # use limpid_core as limpid;
/// use limpid::Image;
/// let image = Image::from_fn(4, 2, 3, |x, y, c| (x + 10 * y + 100 * c) as f32);
/// assert_eq!(image.plane(1)[4 + 3], 113.0);
/// assert_eq!(image.get(3, 1, 1), 113.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    size: Size,
    channels: usize,
    data: AlignedVec,
}

impl Image {
    /// A black image. Panics if memory is exhausted; [`Image::try_new`] returns an error instead.
    pub fn new(width: usize, height: usize, channels: usize) -> Self {
        Self {
            size: Size { width, height },
            channels,
            data: AlignedVec::zeros(width * height * channels),
        }
    }

    /// A black image, or an error if memory is exhausted.
    ///
    /// ```
    /// # use limpid_core as limpid;
    /// use limpid::Image;
    /// assert!(Image::try_new(4, 3, 3).is_ok());
    /// assert!(Image::try_new(1 << 30, 1 << 30, 3).is_err());
    /// ```
    pub fn try_new(width: usize, height: usize, channels: usize) -> Result<Self> {
        let pixels = width.saturating_mul(height);
        Ok(Self {
            size: Size { width, height },
            channels,
            data: AlignedVec::try_zeros(pixels.saturating_mul(channels))?,
        })
    }

    /// An image that owns the given planes, stored one after the other.
    pub fn from_planes(
        width: usize,
        height: usize,
        channels: usize,
        data: Vec<f32>,
    ) -> Result<Self> {
        if data.len() != width * height * channels {
            return Err(Error::mismatch(format!(
                "an image of {width}x{height} with {channels} channels has {} values, not {}",
                width * height * channels,
                data.len()
            )));
        }
        Ok(Self {
            size: Size { width, height },
            channels,
            data: data.into(),
        })
    }

    /// An image from interleaved pixels (`rgbrgb…`).
    pub fn from_interleaved(
        width: usize,
        height: usize,
        channels: usize,
        pixels: &[f32],
    ) -> Result<Self> {
        let count = width * height;
        if pixels.len() != count * channels {
            // Returns the error for planes of this length.
            return Self::from_planes(width, height, channels, pixels.to_vec());
        }
        let mut image = Self::new(width, height, channels);
        let planes = image.data.par_chunks_mut(count.max(1)).enumerate();
        planes.for_each(|(c, plane)| {
            for (to, pixel) in plane.iter_mut().zip(pixels.chunks_exact(channels)) {
                *to = pixel[c];
            }
        });
        Ok(image)
    }

    /// An image from a function of `(x, y, channel)`.
    pub fn from_fn(
        width: usize,
        height: usize,
        channels: usize,
        mut value: impl FnMut(usize, usize, usize) -> f32,
    ) -> Self {
        let mut image = Self::new(width, height, channels);
        let mut places = image.data.iter_mut();
        for c in 0..channels {
            for y in 0..height {
                for (x, place) in places.by_ref().take(width).enumerate() {
                    *place = value(x, y, c);
                }
            }
        }
        image
    }

    /// Width and height.
    #[inline]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Pixels in a row.
    #[inline]
    pub fn width(&self) -> usize {
        self.size.width
    }

    /// Rows.
    #[inline]
    pub fn height(&self) -> usize {
        self.size.height
    }

    /// Number of planes.
    #[inline]
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// All planes, one after the other.
    #[inline]
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// All planes, mutable.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }

    /// Returns the planes and consumes the image.
    pub fn into_data(self) -> Vec<f32> {
        self.data.into_vec()
    }

    /// One plane.
    #[inline]
    pub fn plane(&self, channel: usize) -> &[f32] {
        &self.data[channel * self.size.pixels()..][..self.size.pixels()]
    }

    /// One plane, mutable.
    #[inline]
    pub fn plane_mut(&mut self, channel: usize) -> &mut [f32] {
        let count = self.size.pixels();
        &mut self.data[channel * count..][..count]
    }

    /// The planes in order.
    pub fn planes(&self) -> impl Iterator<Item = &[f32]> {
        (0..self.channels).map(|c| self.plane(c))
    }

    /// One row of one plane.
    #[inline]
    pub fn row(&self, channel: usize, y: usize) -> &[f32] {
        &self.plane(channel)[y * self.size.width..][..self.size.width]
    }

    /// One value.
    #[inline]
    pub fn get(&self, x: usize, y: usize, channel: usize) -> f32 {
        self.plane(channel)[y * self.size.width + x]
    }

    /// Sets one value.
    #[inline]
    pub fn set(&mut self, x: usize, y: usize, channel: usize, value: f32) {
        let width = self.size.width;
        self.plane_mut(channel)[y * width + x] = value;
    }

    /// The same pixels, interleaved.
    pub fn to_interleaved(&self) -> Vec<f32> {
        const PART: usize = 1 << 14;
        let mut out = memory::zeros(self.data.len());
        let parts = out.par_chunks_mut((PART * self.channels).max(1));
        parts.enumerate().for_each(|(part, out)| {
            for (c, plane) in self.planes().enumerate() {
                let to = out[c..].iter_mut().step_by(self.channels);
                for (to, from) in to.zip(&plane[part * PART..]) {
                    *to = *from;
                }
            }
        });
        out
    }

    /// Applies a function to each value.
    pub fn map(&self, mut f: impl FnMut(f32) -> f32) -> Self {
        let mut made = self.clone();
        made.data.iter_mut().for_each(|v| *v = f(*v));
        made
    }

    /// The rectangle at `(x, y)`. It must lie inside the image.
    pub fn crop(&self, x: usize, y: usize, size: Size) -> Self {
        Self::from_fn(size.width, size.height, self.channels, |i, j, c| {
            self.get(x + i, y + j, c)
        })
    }

    /// Copies all of `part` to `(x, y)`; it must fit.
    pub fn paste(&mut self, x: usize, y: usize, part: &Self) {
        let width = self.size.width;
        for c in 0..self.channels.min(part.channels) {
            for j in 0..part.height() {
                let at = (y + j) * width + x;
                self.plane_mut(c)[at..at + part.width()].copy_from_slice(part.row(c, j));
            }
        }
    }

    /// The largest magnitude; infinite if any value is missing.
    pub fn magnitude(&self) -> f32 {
        // With the sign bit cleared, bit patterns are ordered like the magnitudes; infinity and NaN come last.
        let part = |part: &[f32]| {
            let largest = |most: i32, v: &f32| most.max(v.to_bits() as i32 & i32::MAX);
            part.iter().fold(0, largest)
        };
        let parts = self.data.par_chunks(1 << 16).map(part);
        let most = f32::from_bits(parts.max().unwrap_or(0) as u32);
        if most.is_nan() { f32::INFINITY } else { most }
    }

    /// Number of values that are not finite.
    pub fn non_finite(&self) -> usize {
        let count = |part: &[f32]| part.iter().filter(|v| !v.is_finite()).count();
        self.data.par_chunks(1 << 16).map(count).sum()
    }
}

/// Weights of linear sRGB (Rec. 709) in luminance.
pub const LUMINANCE: [f32; 3] = [0.2126, 0.7152, 0.0722];

/// Luminance of a linear sRGB colour.
///
/// ```
/// # use limpid_core as limpid;
/// assert!((limpid::luminance([1.0, 1.0, 1.0]) - 1.0).abs() < 1e-6);
/// ```
#[inline]
pub fn luminance(rgb: [f32; 3]) -> f32 {
    rgb.iter().zip(LUMINANCE).map(|(v, w)| v * w).sum()
}

/// Encodes a linear value with the sRGB curve. Values outside 0 … 1 follow the curve; negative ones are mirrored.
#[inline]
pub fn linear_to_srgb(v: f32) -> f32 {
    let a = v.abs();
    let s = if a <= 0.003_130_8 {
        12.92 * a
    } else {
        1.055 * a.powf(1.0 / 2.4) - 0.055
    };
    s.copysign(v)
}

/// Decodes an sRGB value to linear light: the inverse of [`linear_to_srgb`].
#[inline]
pub fn srgb_to_linear(v: f32) -> f32 {
    let a = v.abs();
    let l = if a <= 0.040_45 {
        a / 12.92
    } else {
        ((a + 0.055) / 1.055).powf(2.4)
    };
    l.copysign(v)
}

impl Image {
    /// Moves the pixels out temporarily; [`Image::put_data`] puts them back.
    pub fn take_data(&mut self) -> AlignedVec {
        std::mem::take(&mut self.data)
    }

    /// Puts back the pixels that [`Image::take_data`] took.
    pub fn put_data(&mut self, data: AlignedVec) {
        debug_assert_eq!(data.len(), self.size.pixels() * self.channels);
        self.data = data;
    }
}
