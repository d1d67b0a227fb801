//! Images of any size: an image that does not fit the device is processed in tiles with the plan's reach as halo, with the same
//! result.

use limpid_core::{Image, Size};
use std::ops::Range;

/// A division of an image into tiles. Every tile reads a rectangle of the same size, inside the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiles {
    /// The whole image.
    pub image: Size,
    /// Size of the rectangle that a tile reads.
    pub read: Size,
    reach: usize,
    align: usize,
}

/// One tile: what it reads, and which part of that it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    /// First column that it reads.
    pub x: usize,
    /// First row that it reads.
    pub y: usize,
    /// Columns of the image that it writes.
    pub columns: Range<usize>,
    /// Rows of the image that it writes.
    pub rows: Range<usize>,
}

impl Tiles {
    /// Tiles whose read rectangle satisfies `fits`, or `None` if even the smallest does not.
    pub fn new(
        image: Size,
        reach: usize,
        align: usize,
        fits: impl Fn(Size) -> bool,
    ) -> Option<Self> {
        let (mut read, mut counts) = (image, [1, 1]);
        while !fits(read) {
            // More tiles along the longer side.
            let (side, whole, count) = if read.width >= read.height {
                (&mut read.width, image.width, &mut counts[0])
            } else {
                (&mut read.height, image.height, &mut counts[1])
            };
            let longer = *side;
            while *side >= longer {
                *count += 1 + *count / 4;
                *side = side_of(whole, *count, reach, align)?;
            }
        }
        Some(Self {
            image,
            read,
            reach,
            align,
        })
    }

    /// The tiles in order.
    pub fn all(&self) -> Vec<Tile> {
        let columns = self.cuts(self.image.width, self.read.width);
        let rows = self.cuts(self.image.height, self.read.height);
        let mut tiles = Vec::new();
        for (y, rows) in &rows {
            for (x, columns) in &columns {
                tiles.push(Tile {
                    x: *x,
                    y: *y,
                    columns: columns.clone(),
                    rows: rows.clone(),
                });
            }
        }
        tiles
    }

    /// Along one axis: where each tile starts to read, and what it writes.
    fn cuts(&self, whole: usize, read: usize) -> Vec<(usize, Range<usize>)> {
        let mut cuts = Vec::new();
        let mut from = 0;
        while from < whole {
            let wanted = from.saturating_sub(self.reach);
            let start = (wanted / self.align * self.align).min(whole - read);
            let end = start + read;
            let made = if end == whole {
                whole
            } else {
                end - self.reach
            };
            cuts.push((start, from..made));
            from = made;
        }
        cuts
    }

    /// Copies the output of a tile into the whole image.
    pub fn paste(tile: &Tile, made: &Image, into: &mut Image) {
        let size = Size::new(tile.columns.len(), tile.rows.len());
        let part = made.crop(tile.columns.start - tile.x, tile.rows.start - tile.y, size);
        into.paste(tile.columns.start, tile.rows.start, &part);
    }
}

/// The side of so many tiles of equal size that cover an axis, or `None` if each pixel had a tile.
fn side_of(whole: usize, count: usize, reach: usize, align: usize) -> Option<usize> {
    // A tile must produce at least one aligned block besides its halo.
    if count * align > whole {
        return None;
    }
    // What two neighbours read twice: their halos, and up to a block because tiles start at one.
    let twice = 2 * reach + align;
    let side = (whole + (count - 1) * twice).div_ceil(count);
    // The size keeps the image's remainder modulo the alignment, so that the last tile can end with the image.
    let rest = whole % align;
    Some(
        side.max(twice + align)
            .saturating_sub(rest)
            .next_multiple_of(align)
            + rest,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_every_pixel_once_with_their_surroundings() {
        for (w, h, reach, align, side) in [
            (100, 37, 3, 1, 20),
            (67, 64, 5, 8, 40),
            (1, 300, 2, 1, 9),
            (33, 33, 0, 1, 8),
        ] {
            let image = Size::new(w, h);
            let tiles =
                Tiles::new(image, reach, align, |s| s.width <= side && s.height <= side).unwrap();
            let mut count = vec![0; w * h];
            for t in tiles.all() {
                assert!(t.x % align == 0 && t.y % align == 0);
                assert!(t.x + tiles.read.width <= w && t.y + tiles.read.height <= h);
                for y in t.rows.clone() {
                    for x in t.columns.clone() {
                        count[y * w + x] += 1;
                    }
                }
                let near = |from: usize, start: usize| from >= start + reach || start == 0;
                assert!(near(t.columns.start, t.x) && near(t.rows.start, t.y));
                assert!(t.columns.end + reach <= t.x + tiles.read.width || t.columns.end == w);
                assert!(t.rows.end + reach <= t.y + tiles.read.height || t.rows.end == h);
            }
            assert!(count.iter().all(|c| *c == 1), "{w}x{h}: {count:?}");
        }
    }

    /// A photograph that fits in five or six parts is not read twice.
    #[test]
    fn tiles_are_as_few_as_fit() {
        let image = Size::new(6000, 4000);
        let tiles = Tiles::new(image, 91, 16, |s| s.pixels() < 5_000_000).unwrap();
        assert_eq!(tiles.all().len(), 6);
        assert!(6 * tiles.read.pixels() < image.pixels() * 6 / 5);
    }

    #[test]
    fn impossible_tiles_are_none() {
        assert_eq!(
            Tiles::new(Size::new(100, 100), 60, 1, |s| s.pixels() < 100),
            None
        );
    }
}
