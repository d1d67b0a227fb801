//! Develops the values of a sensor plainly.

use super::color::Color;
use super::sensor::Area;
use super::{Pattern, demosaic};
use limpid_core::{Image, Result, linear_to_srgb};
use rayon::prelude::*;

/// Balances, demosaics, converts to sRGB, crops and turns a picture.
pub(super) fn develop(
    image: &Image,
    pattern: Option<&Pattern>,
    (shown, orientation): (Area, u8),
    color: &Color,
) -> Result<Image> {
    let (width, height) = (image.width(), image.height());
    let mut balanced = Image::try_new(width, height, image.channels())?;
    for c in 0..image.channels() {
        let rows = balanced
            .plane_mut(c)
            .par_chunks_exact_mut(width)
            .enumerate();
        rows.for_each(|(y, row)| {
            for (x, (to, from)) in row.iter_mut().zip(image.row(c, y)).enumerate() {
                let which = pattern.map_or(c, |p| p.color(x, y));
                *to = (from * color.balance[which]).min(1.0);
            }
        });
    }
    let full = match pattern {
        None => balanced,
        Some(pattern) => demosaic(&balanced, pattern)?,
    };
    let turned = TurnedArea::new(shown, orientation);
    let (width, height) = turned.size();
    let mut out = Image::try_new(width, height, 3)?;
    for (c, weights) in color.matrix.iter().enumerate() {
        let rows = out.plane_mut(c).par_chunks_exact_mut(width).enumerate();
        rows.for_each(|(y, row)| {
            for (x, to) in row.iter_mut().enumerate() {
                let (x, y) = turned.place(x, y);
                let sum: f32 = (0..3)
                    .map(|k| weights[k] * full.row(k, y)[x].clamp(0.0, 1.0))
                    .sum();
                *to = linear_to_srgb(sum.clamp(0.0, 1.0));
            }
        });
    }
    Ok(out)
}

/// A part of a picture, turned as the camera was held.
struct TurnedArea {
    area: Area,
    /// Whether columns become rows; then whether the picture is mirrored along x and y.
    transposed: bool,
    mirrored: [bool; 2],
}

impl TurnedArea {
    fn new(area: Area, orientation: u8) -> Self {
        let (transposed, mirrored) = match orientation {
            2 => (false, [true, false]),
            3 => (false, [true, true]),
            4 => (false, [false, true]),
            5 => (true, [false, false]),
            6 => (true, [false, true]),
            7 => (true, [true, true]),
            8 => (true, [true, false]),
            _ => (false, [false, false]),
        };
        Self {
            area,
            transposed,
            mirrored,
        }
    }

    fn size(&self) -> (usize, usize) {
        match self.transposed {
            true => (self.area.height, self.area.width),
            false => (self.area.width, self.area.height),
        }
    }

    /// The place in the picture of a pixel of the turned one.
    fn place(&self, x: usize, y: usize) -> (usize, usize) {
        let (x, y) = if self.transposed { (y, x) } else { (x, y) };
        let flip = |v: usize, n: usize, mirrored: bool| if mirrored { n - 1 - v } else { v };
        (
            self.area.x + flip(x, self.area.width, self.mirrored[0]),
            self.area.y + flip(y, self.area.height, self.mirrored[1]),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the first pixel and the one to its right are taken from, by EXIF's definition of each orientation.
    #[test]
    fn pictures_are_turned() {
        let area = Area {
            x: 10,
            y: 20,
            width: 3,
            height: 2,
        };
        for (orientation, size, first, second) in [
            (1, (3, 2), (10, 20), (11, 20)),
            (2, (3, 2), (12, 20), (11, 20)),
            (3, (3, 2), (12, 21), (11, 21)),
            (4, (3, 2), (10, 21), (11, 21)),
            (5, (2, 3), (10, 20), (10, 21)),
            (6, (2, 3), (10, 21), (10, 20)),
            (7, (2, 3), (12, 21), (12, 20)),
            (8, (2, 3), (12, 20), (12, 21)),
        ] {
            let turned = TurnedArea::new(area, orientation);
            assert_eq!(turned.size(), size);
            assert_eq!(turned.place(0, 0), first, "{orientation}");
            assert_eq!(turned.place(1, 0), second, "{orientation}");
        }
    }
}
