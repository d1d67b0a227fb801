//! From the samples of a file to colour: palettes, YCbCr, and samples of less than a byte.

use limpid_core::{Error, Image, Result, Size};
use std::borrow::Cow;
use std::path::Path;

use super::super::raster::Raster;

/// Unpacks samples of less than a byte; rows of `width` samples start at byte boundaries.
pub(super) fn unpack(bytes: &[u8], width: usize, bits: u8, max: f32) -> Vec<f32> {
    let per_byte = 8 / bits;
    let row = width.div_ceil(usize::from(per_byte));
    let sample = move |byte: &u8, i: u8| {
        let shift = 8 - bits * (i + 1);
        f32::from((byte >> shift) & ((1_u16 << bits) - 1) as u8) / max
    };
    let rows = bytes.chunks(row.max(1));
    rows.flat_map(|row| {
        let samples = row
            .iter()
            .flat_map(|byte| (0..per_byte).map(move |i| sample(byte, i)));
        samples.take(width)
    })
    .collect()
}

/// The colours of a palette image: indices, with alpha where a pixel has two samples.
pub(super) fn look_up(
    values: &[f32],
    (size, samples, bits): (Size, usize, u8),
    map: &[u16],
    path: &Path,
) -> Result<Raster<'static>> {
    let colors = 1_usize << bits.min(16);
    let wrong = |what: String| {
        let path = path.display();
        Err(Error::damaged(format!("{path}: corrupt TIFF file: {what}")))
    };
    if map.len() != 3 * colors {
        return wrong(format!(
            "its palette has {} values, not {}",
            map.len(),
            3 * colors
        ));
    }
    if values.len() != size.pixels() * samples {
        return wrong(format!("{} values for {size}", values.len()));
    }
    // Some programs write 8 bits of the 16.
    let max = if map.iter().all(|v| *v < 256) {
        255.0
    } else {
        65535.0
    };
    let color = Image::from_fn(size.width, size.height, 3, |x, y, c| {
        let index = values[(y * size.width + x) * samples] as usize;
        f32::from(map[c * colors + index.min(colors - 1)]) / max
    });
    let alpha = (samples > 1).then(|| {
        Image::from_fn(size.width, size.height, 1, |x, y, _| {
            values[(y * size.width + x) * samples + 1] / (colors - 1) as f32
        })
    });
    Ok(Raster {
        color: Cow::Owned(color),
        alpha,
    })
}

/// Values of `YCbCrCoefficients` and `ReferenceBlackWhite`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Luma {
    pub(super) weights: [f32; 3],
    pub(super) range: [f32; 6],
}

impl Default for Luma {
    fn default() -> Self {
        Self {
            weights: [0.299, 0.587, 0.114],
            range: [0.0, 255.0, 128.0, 255.0, 128.0, 255.0],
        }
    }
}

impl Luma {
    /// Interleaved Y, Cb, Cr to R, G, B, 0 … 1.
    pub(super) fn to_rgb(self, values: &mut [f32]) {
        let [r, g, b] = self.weights;
        let part = |v: f32, c: usize, full: f32| {
            let (black, white) = (self.range[2 * c], self.range[2 * c + 1]);
            let span = if white == black { 1.0 } else { white - black };
            (v * 255.0 - black) * full / span / 255.0
        };
        let g = if g == 0.0 { 1.0 } else { g };
        for pixel in values.chunks_exact_mut(3) {
            let (luma, blue, red) = (
                part(pixel[0], 0, 255.0),
                part(pixel[1], 1, 127.0),
                part(pixel[2], 2, 127.0),
            );
            let red = luma + red * (2.0 - 2.0 * r);
            let blue = luma + blue * (2.0 - 2.0 * b);
            let green = (luma - r * red - b * blue) / g;
            for (to, value) in pixel.iter_mut().zip([red, green, blue]) {
                *to = value.clamp(0.0, 1.0);
            }
        }
    }
}
