//! Coefficients as one image.

use super::{Coefficients, Detail, Dwt, counts};
use limpid_core::{Error, Image, Result, Size};
use std::str::FromStr;

/// The arrangement of coefficients in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrangement {
    /// `LL` top left, `HL` to its right, `LH` below, `HH`; the next level inside `LL`.
    #[default]
    Subbands,
    /// Every coefficient at the position of the sample it replaced; level `l` with a spacing of `2^l`.
    Interleaved,
}

impl std::fmt::Display for Arrangement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Subbands => "subbands",
            Self::Interleaved => "interleaved",
        })
    }
}

impl FromStr for Arrangement {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "subbands" => Ok(Self::Subbands),
            "interleaved" => Ok(Self::Interleaved),
            _ => Err(Error::unknown("layout", text, ["subbands", "interleaved"])),
        }
    }
}

/// The position of coefficient `(x, y)` of a band.
struct Place {
    start: (usize, usize),
    step: usize,
}

impl Place {
    fn copy(&self, from: &Image, to: &mut Image) {
        for c in 0..from.channels() {
            for y in 0..from.height() {
                for x in 0..from.width() {
                    let (at_x, at_y) = (self.start.0 + x * self.step, self.start.1 + y * self.step);
                    to.set(at_x, at_y, c, from.get(x, y, c));
                }
            }
        }
    }

    fn read(&self, from: &Image, size: Size) -> Image {
        Image::from_fn(size.width, size.height, from.channels(), |x, y, c| {
            from.get(
                self.start.0 + x * self.step,
                self.start.1 + y * self.step,
                c,
            )
        })
    }
}

/// Positions of the three detail bands of all levels and of the remainder, and the image's size.
struct Map {
    details: Vec<[Place; 3]>,
    low: Place,
    size: Size,
}

impl Dwt {
    /// The sizes of the images that the levels transform, and of the remainder.
    pub fn sizes(&self, size: Size) -> Vec<Size> {
        let next = |s: &Size| {
            let low = |n| counts(n, &self.wavelet, self.border).0;
            Some(Size::new(low(s.width), low(s.height)))
        };
        std::iter::successors(Some(size), next)
            .take(self.levels + 1)
            .collect()
    }

    fn map(&self, size: Size, layout: Arrangement) -> Result<Map> {
        let sizes = self.sizes(size);
        let low_size = sizes.last().copied().unwrap_or(size);
        if layout == Arrangement::Interleaved {
            let whole = |s: &Size| s.width.is_multiple_of(2) && s.height.is_multiple_of(2);
            let fits = !self.border.expands()
                && (self.border == limpid_wavelet::Boundary::Mirror
                    || sizes.iter().take(self.levels).all(whole));
            if !fits {
                return Err(Error::unsupported(format!(
                    "coefficients of boundary '{}' at {size} do not fit the image; use layout 'subbands', or boundary 'mirror'",
                    self.border
                )));
            }
            let place = |l: usize, x: usize, y: usize| Place {
                start: (x << l, y << l),
                step: 2 << l,
            };
            let details =
                (0..self.levels).map(|l| [place(l, 1, 0), place(l, 0, 1), place(l, 1, 1)]);
            return Ok(Map {
                details: details.collect(),
                low: Place {
                    start: (0, 0),
                    step: 1 << self.levels,
                },
                size,
            });
        }
        let mut packed = low_size;
        let mut details = Vec::new();
        for s in sizes.iter().take(self.levels).rev() {
            let (w, h) = (packed.width, packed.height);
            let place = |x, y| Place {
                start: (x, y),
                step: 1,
            };
            details.push([place(w, 0), place(0, h), place(w, h)]);
            let high = |n| counts(n, &self.wavelet, self.border).1;
            packed = Size::new(w + high(s.width), h + high(s.height));
        }
        details.reverse();
        Ok(Map {
            details,
            low: Place {
                start: (0, 0),
                step: 1,
            },
            size: packed,
        })
    }

    /// Size of the image that the coefficients of an image fill.
    pub fn packed_size(&self, size: Size, layout: Arrangement) -> Result<Size> {
        Ok(self.map(size, layout)?.size)
    }

    /// The position of the diagonal band of a level among sub-bands; the others are above and to the left of it.
    pub fn high_at(&self, size: Size, level: usize) -> Result<(usize, usize)> {
        let map = self.map(size, Arrangement::Subbands)?;
        Ok(map.details.get(level).map_or((0, 0), |d| d[2].start))
    }

    /// Packs all coefficients into one image. Without expansion it has the size of the transformed image.
    pub fn pack(&self, coefficients: &Coefficients, layout: Arrangement) -> Result<Image> {
        let size = (coefficients.details.first()).map_or(coefficients.low.size(), |d| d.size);
        let map = self.map(size, layout)?;
        let mut out = Image::new(map.size.width, map.size.height, coefficients.low.channels());
        for (detail, [hl, lh, hh]) in coefficients.details.iter().zip(&map.details) {
            hl.copy(&detail.hl, &mut out);
            lh.copy(&detail.lh, &mut out);
            hh.copy(&detail.hh, &mut out);
        }
        map.low.copy(&coefficients.low, &mut out);
        Ok(out)
    }

    /// Unpacks the coefficients of an image of this size.
    pub fn unpack(&self, packed: &Image, size: Size, layout: Arrangement) -> Result<Coefficients> {
        let map = self.map(size, layout)?;
        if packed.size() != map.size {
            return Err(Error::input(format!(
                "coefficients of an image of {size} fill {}, not {}",
                map.size,
                packed.size()
            )));
        }
        let sizes = self.sizes(size);
        let details = sizes.iter().zip(&map.details).map(|(&size, [hl, lh, hh])| {
            let (lw, hw) = counts(size.width, &self.wavelet, self.border);
            let (l, h) = counts(size.height, &self.wavelet, self.border);
            Detail {
                size,
                hl: hl.read(packed, Size::new(hw, l)),
                lh: lh.read(packed, Size::new(lw, h)),
                hh: hh.read(packed, Size::new(hw, h)),
            }
        });
        let low_size = sizes.last().copied().unwrap_or(size);
        Ok(Coefficients {
            details: details.collect(),
            low: map.low.read(packed, low_size),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid_wavelet::{Boundary, Normalisation, Wavelet};

    #[test]
    fn both_layouts_hold_everything() {
        for border in Boundary::all() {
            for (w, h, levels) in [(1, 1, 2), (7, 5, 3), (16, 8, 3), (33, 2, 1), (9, 9, 0)] {
                let dwt = Dwt {
                    wavelet: Wavelet::named("cdf97").unwrap(),
                    border,
                    normalisation: Normalisation::Unit,
                    levels,
                };
                let image = Image::from_fn(w, h, 2, |x, y, c| ((x * 7 + y * 3 + c) % 11) as f32);
                let coefficients = dwt.forward(&image).unwrap();
                for layout in [Arrangement::Subbands, Arrangement::Interleaved] {
                    let Ok(packed) = dwt.pack(&coefficients, layout) else {
                        assert!(layout == Arrangement::Interleaved && border != Boundary::Mirror);
                        continue;
                    };
                    if border == Boundary::Mirror {
                        assert_eq!(packed.size(), image.size());
                    }
                    let back = dwt.unpack(&packed, image.size(), layout).unwrap();
                    assert_eq!(back, coefficients, "{border} {layout} {w}x{h}");
                }
            }
        }
    }
}
