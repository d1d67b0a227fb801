//! The non-finite policy: NaN and infinity are missing samples.
//!
//! Before a method runs, missing pixels of every layer are filled from their neighbours, so that they never spread.
//! Holes are filled by push–pull: averages of the known pixels, level by level down to one pixel, then back up into the holes.
//! Invariants: existing pixels keep their bits, and the result is finite.

use super::{Frame, Kind, Layer};
use crate::{Error, Image, Result};
use std::borrow::Cow;

/// A frame without missing samples, and the number of filled ones.
#[derive(Debug)]
#[non_exhaustive]
pub struct Mended<'a> {
    /// The frame, with holes filled.
    pub frame: Cow<'a, Frame>,
    /// The number of missing pixels of each layer that had any.
    pub missing: Vec<(Layer, usize)>,
}

impl Frame {
    /// The frame with missing samples filled, and a warning for each layer that had some.
    pub fn mended(&self) -> Result<Cow<'_, Self>> {
        let mended = self.mend()?;
        let every = mended.frame.sample_spacing();
        for (layer, count) in &mended.missing {
            // Colour between samples is missing by design.
            if every > 1 && layer.kind == Kind::Color {
                continue;
            }
            log::warn!(
                "layer {layer}: {count} pixels are NaN or infinite; filled from their neighbours"
            );
        }
        Ok(mended.frame)
    }

    /// Fills missing samples, layer by layer. An image that consists only of missing samples is an error.
    ///
    /// ```
    /// # use limpid_core as limpid;
    /// use limpid::{Frame, Image};
    /// let frame = Frame::new(Image::from_fn(5, 5, 1, |x, y, _| if x == y { f32::NAN } else { 2.0 }))?;
    /// let mended = frame.mend()?;
    /// assert_eq!(mended.missing[0].1, 5);
    /// assert_eq!(mended.frame.color()?.get(2, 2, 0), 2.0);
    /// # Ok::<(), limpid::Error>(())
    /// ```
    pub fn mend(&self) -> Result<Mended<'_>> {
        let mut mended = Mended {
            frame: Cow::Borrowed(self),
            missing: Vec::new(),
        };
        for (layer, image) in &self.layers {
            if image.magnitude().is_finite() {
                // The pixels between the samples are filled elsewhere.
                if *layer == Layer::COLOR && self.every > 1 {
                    mended.frame.to_mut().every = 1;
                }
                continue;
            }
            // Escaped rays have infinite depth by convention; that is a value, not a missing sample.
            let escaped = layer.kind == Kind::Depth;
            let known: Vec<bool> = known_pixels(image);
            let missing = known.iter().filter(|k| !**k).count();
            let filled = if escaped {
                image.map(|v| if v.is_finite() { v } else { 0.0 })
            } else if missing == known.len() {
                return Err(Error::input(format!(
                    "layer {layer} has no finite pixel: all {missing} are NaN or infinite"
                )));
            } else {
                fill(image, &known)
            };
            if *layer == Layer::COLOR {
                let every = grid(&known, image.width(), self.every);
                mended.frame.to_mut().every = every;
            }
            if !escaped {
                mended.missing.push((layer.clone(), missing));
            }
            mended.frame.to_mut().layers.insert(layer.clone(), filled);
        }
        Ok(mended)
    }
}

/// A pixel is known when all its channels are finite.
fn known_pixels(image: &Image) -> Vec<bool> {
    (0..image.size().pixels())
        .map(|i| image.planes().all(|p| p[i].is_finite()))
        .collect()
}

/// The side of the blocks of which only the first pixel is known; 1 if pixels are missing in another pattern. If the side is
/// given, samples may also be missing.
fn grid(known: &[bool], width: usize, told: usize) -> usize {
    let on = |i: usize, every: usize| {
        (i % width).is_multiple_of(every) && (i / width).is_multiple_of(every)
    };
    if told > 1 && (0..known.len()).all(|i| !known[i] || on(i, told)) {
        return told;
    }
    let height = known.len() / width;
    // The first row decides; an image of one block is ambiguous.
    let Some(every) = (1..width).find(|x| known[*x]) else {
        return 1;
    };
    if height > every && (0..known.len()).all(|i| known[i] == on(i, every)) {
        every
    } else {
        1
    }
}

/// One level of the pyramid: weighted sums and weights.
struct Level {
    width: usize,
    height: usize,
    weight: Vec<f32>,
    planes: Vec<Vec<f32>>,
}

fn fill(image: &Image, known: &[bool]) -> Image {
    let weight = known.iter().map(|k| f32::from(u8::from(*k))).collect();
    let planes = image
        .planes()
        .map(|p| {
            p.iter()
                .zip(known)
                .map(|(v, k)| if *k { *v } else { 0.0 })
                .collect()
        })
        .collect();
    let mut levels = vec![Level {
        width: image.width(),
        height: image.height(),
        weight,
        planes,
    }];
    while let Some(last) = levels.last()
        && last.width * last.height > 1
        && last.weight.contains(&0.0)
    {
        levels.push(half(last));
    }
    for i in (0..levels.len() - 1).rev() {
        let (fine, coarse) = levels.split_at_mut(i + 1);
        pull(&mut fine[i], &coarse[0]);
    }
    let filled = &levels[0];
    let mut out = image.clone();
    for (c, plane) in filled.planes.iter().enumerate() {
        let target = out.plane_mut(c);
        for (i, k) in known.iter().enumerate() {
            if !k {
                target[i] = plane[i];
            }
        }
    }
    out
}

/// Averages the known pixels of each 2×2 block.
fn half(fine: &Level) -> Level {
    let (width, height) = (fine.width.div_ceil(2), fine.height.div_ceil(2));
    let mut coarse = Level {
        width,
        height,
        weight: vec![0.0; width * height],
        planes: vec![vec![0.0; width * height]; fine.planes.len()],
    };
    for y in 0..fine.height {
        for x in 0..fine.width {
            let (from, to) = (y * fine.width + x, (y / 2) * width + x / 2);
            coarse.weight[to] += fine.weight[from];
            for (c, f) in coarse.planes.iter_mut().zip(&fine.planes) {
                c[to] += fine.weight[from] * f[from];
            }
        }
    }
    for i in 0..coarse.weight.len() {
        if coarse.weight[i] > 0.0 {
            for c in &mut coarse.planes {
                c[i] /= coarse.weight[i];
            }
            coarse.weight[i] = 1.0;
        }
    }
    coarse
}

/// Fills the unknown pixels of `fine` from `coarse`, bilinearly between block centres.
fn pull(fine: &mut Level, coarse: &Level) {
    let at = |i: usize, n: usize| {
        let centre = (i as f32 - 0.5) / 2.0;
        let low = centre.floor().max(0.0) as usize;
        (
            low,
            (low + 1).min(n - 1),
            (centre - low as f32).clamp(0.0, 1.0),
        )
    };
    for y in 0..fine.height {
        let (y0, y1, ty) = at(y, coarse.height);
        for x in 0..fine.width {
            let i = y * fine.width + x;
            if fine.weight[i] > 0.0 {
                continue;
            }
            let (x0, x1, tx) = at(x, coarse.width);
            for (f, c) in fine.planes.iter_mut().zip(&coarse.planes) {
                let row = |y: usize| {
                    c[y * coarse.width + x0] * (1.0 - tx) + c[y * coarse.width + x1] * tx
                };
                f[i] = row(y0) * (1.0 - ty) + row(y1) * ty;
            }
            fine.weight[i] = 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_pixels_keep_their_bits_and_holes_are_finite() {
        let image = Image::from_fn(37, 19, 3, |x, y, c| {
            if (x * 7 + y * 5) % 3 == 0 || (x > 20 && y > 8) {
                f32::INFINITY
            } else {
                (x + y + c) as f32
            }
        });
        let frame = Frame::new(image.clone()).unwrap();
        let mended = frame.mend().unwrap();
        let out = mended.frame.color().unwrap();
        assert_eq!(out.non_finite(), 0);
        for (a, b) in image.data().iter().zip(out.data()) {
            assert!(!a.is_finite() || a == b);
        }
    }

    #[test]
    fn blocks_with_one_sample_are_recognised() {
        let every = |f: &dyn Fn(usize, usize) -> bool, (width, height): (usize, usize)| {
            let value = |x, y, _| if f(x, y) { 0.5 } else { f32::NAN };
            let frame = Frame::new(Image::from_fn(width, height, 3, value)).unwrap();
            frame.mend().unwrap().frame.sample_spacing()
        };
        for n in [2usize, 3, 4] {
            let on = |x: usize, y: usize| x.is_multiple_of(n) && y.is_multiple_of(n);
            assert_eq!(every(&on, (17, 13)), n);
            let one_more = |x, y| on(x, y) || (x, y) == (5, 7);
            assert_eq!(every(&one_more, (17, 13)), 1);
            let one_less = |x, y| on(x, y) && (x, y) != (0, 0);
            assert_eq!(every(&one_less, (17, 13)), 1);
        }
        assert_eq!(every(&|_, _| true, (17, 13)), 1);
        // The file's attribute holds if a sample is missing, but not if other pixels exist.
        let told = |f: &dyn Fn(usize, usize) -> bool| {
            let value = |x, y, _| if f(x, y) { 0.5 } else { f32::NAN };
            let mut frame = Frame::new(Image::from_fn(17, 13, 3, value)).unwrap();
            frame.set_sample_spacing(2);
            frame.mend().unwrap().frame.sample_spacing()
        };
        assert_eq!(told(&|x, y| (x | y) & 1 == 0 && (x, y) != (4, 4)), 2);
        assert_eq!(told(&|x, y| (x, y) != (4, 4)), 1);
        assert_eq!(told(&|_, _| true), 1);
        assert_eq!(every(&|x, y| (x, y) == (0, 0), (3, 3)), 1);
    }

    #[test]
    fn a_frame_of_nothing_but_nan_is_an_error() {
        let frame = Frame::new(Image::new(3, 3, 1).map(|_| f32::NAN)).unwrap();
        assert!(frame.mend().unwrap_err().to_string().contains("color"));
    }
}
