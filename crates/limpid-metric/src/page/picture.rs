//! The pictures of a page: how values are stored, in which format, as a data URL.

use super::Item;
use crate::Space;
use limpid_core::{Frame, Image, Result, Size};
use limpid_io::{Bits, Format, Transfer, WriteOptions};
use rayon::prelude::*;
use std::borrow::Cow;

/// Limit for all pictures in bytes: with base64, 4/3 of it, the page stays below 20 MB.
const MOST_BYTES: f64 = 14e6;
/// Up to this many pixels in total, pictures are stored without loss.
const EXACT_PIXELS: usize = 3_000_000;
/// Longest side of a thumbnail.
const THUMB: usize = 240;
/// Where the curve of linear light turns logarithmic.
const TOE: f32 = 0.005;
/// JPEG qualities that are tried.
const QUALITIES: [u8; 4] = [92, 85, 75, 62];

/// How the values of a picture are stored: display values unchanged, linear light as `ln(1 + v / toe) / ln(1 + top / toe)`.
pub(super) struct Curve {
    pub(super) toe: f32,
    pub(super) top: f32,
}

impl Curve {
    pub(super) fn apply(image: &Image, space: Space) -> (Cow<'_, Image>, Self) {
        if space == Space::Display {
            return (Cow::Borrowed(image), Self { toe: 0.0, top: 1.0 });
        }
        let most = |m: f32, v: &f32| if v.is_finite() { m.max(*v) } else { m };
        let top = image.data().iter().fold(1.0, most).min(256.0);
        let scale = 1.0 / (1.0 + top / TOE).ln();
        let code = |v: f32| match v > 0.0 {
            true => (1.0 + v.min(top) / TOE).ln() * scale,
            false => 0.0,
        };
        let coded = Cow::Owned(image.map(code));
        (coded, Self { toe: TOE, top })
    }
}

/// A picture as the viewer decodes it: four bytes for each pixel, and the curve.
#[doc(hidden)]
pub fn coded(image: &Image, space: Space) -> (Vec<u8>, f32, f32) {
    let (coded, Curve { toe, top }) = Curve::apply(image, space);
    let (pixels, data) = (image.size().pixels(), coded.data());
    let mut bytes = vec![255; 4 * pixels];
    for (i, four) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        for (c, byte) in four[..3].iter_mut().enumerate() {
            // Grey has one channel.
            // Values are at least 0; WebAssembly has no instruction for `round`.
            *byte = (255.0 * data[c.min(coded.channels() - 1) * pixels + i] + 0.5) as u8;
        }
    }
    (bytes, toe, top)
}

/// How the pictures of a page are stored.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// JPEG quality; `None` for PNG.
    quality: Option<u8>,
    /// The side of the blocks of pixels that are averaged into one.
    shrink: usize,
}

impl Form {
    /// The best form in which all pictures fit.
    pub(super) fn fitting(all: &[&Image]) -> Result<Self> {
        let pixels: usize = all.iter().map(|i| i.size().pixels()).sum();
        if pixels <= EXACT_PIXELS {
            return Ok(Self {
                quality: None,
                shrink: 1,
            });
        }
        let mut shrink = 1;
        loop {
            for quality in QUALITIES {
                let form = Self {
                    quality: Some(quality),
                    shrink,
                };
                let bytes: Vec<f64> = (all.par_iter())
                    .map(|image| form.estimate(image))
                    .collect::<Result<_>>()?;
                if bytes.iter().sum::<f64>() <= MOST_BYTES {
                    return Ok(form);
                }
            }
            shrink *= 2;
        }
    }

    /// The estimated bytes of a picture, from a part of it.
    fn estimate(self, image: &Image) -> Result<f64> {
        const SIDE: usize = 384;
        let part = |length: usize| {
            let side = (SIDE * self.shrink).min(length);
            ((length - side) / 2, side)
        };
        let ((x, width), (y, height)) = (part(image.width()), part(image.height()));
        let sample = image.crop(x, y, Size::new(width, height));
        let share = image.size().pixels() as f64 / sample.size().pixels() as f64;
        // The middle of a picture often has more or less detail than the rest.
        Ok(1.15 * share * self.bytes(&sample)?.len() as f64)
    }

    fn bytes(self, image: &Image) -> Result<Vec<u8>> {
        let mut options = WriteOptions::default();
        options.bits = Some(Bits::Eight);
        options.transfer = Some(Transfer::Encoded);
        options.quality = self.quality;
        let format = match self.quality {
            Some(_) => Format::Jpeg,
            None => Format::Png,
        };
        limpid_io::encode(format, &Frame::new(shrunk(image, self.shrink))?, &options)
    }

    /// A picture as a data URL.
    pub(super) fn uri(self, image: &Image) -> Result<String> {
        let kind = if self.quality.is_some() {
            "jpeg"
        } else {
            "png"
        };
        let bytes = self.bytes(image)?;
        Ok(format!("data:image/{kind};base64,{}", base64(&bytes)))
    }
}

/// Averages blocks of pixels.
fn shrunk(image: &Image, by: usize) -> Image {
    if by <= 1 {
        return image.clone();
    }
    let (width, height) = (image.width(), image.height());
    let (w, h) = (width.div_ceil(by), height.div_ceil(by));
    Image::from_fn(w, h, image.channels(), |x, y, c| {
        let plane = image.plane(c);
        let (x1, y1) = ((x * by + by).min(width), (y * by + by).min(height));
        let mut sum = 0.0;
        for row in y * by..y1 {
            sum += plane[row * width + x * by..row * width + x1]
                .iter()
                .sum::<f32>();
        }
        sum / ((x1 - x * by) * (y1 - y * by)) as f32
    })
}

/// A small picture of display values.
pub(super) fn thumb(item: &Item) -> Result<String> {
    let side = item.image.width().max(item.image.height());
    let small = shrunk(&item.image, side.div_ceil(THUMB).max(1));
    let shown = match item.space {
        Space::Linear => crate::display(&small, 0.0),
        Space::Display => small,
    };
    let form = Form {
        quality: Some(80),
        shrink: 1,
    };
    form.uri(&shown)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |i: usize| three.get(i).map_or(0, |b| u32::from(*b));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= three.len() { digit as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648, section 10.
    #[test]
    fn base64_as_the_standard() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, coded) in cases {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    /// Pictures that do not fit are stored with lower quality, then with fewer pixels.
    #[test]
    fn large_pictures_are_made_smaller() {
        let mut state = 1u32;
        let noise = Image::from_fn(3000, 2000, 3, |_, _, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        });
        let small = Image::new(100, 100, 3);
        assert!(Form::fitting(&[&small]).unwrap().quality.is_none());
        let form = Form::fitting(&[&noise; 4]).unwrap();
        assert!(form.quality.is_some());
        let bytes = 4 * form.bytes(&noise).unwrap().len();
        assert!((bytes as f64) < 1.05 * MOST_BYTES, "{bytes}");
    }
}
