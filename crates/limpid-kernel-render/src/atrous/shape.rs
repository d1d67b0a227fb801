//! Shapes of tiles in workgroup memory, and of the subgroups within them.

use limpid_plan::Target;
use std::fmt;

/// A workgroup's tile of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Rows per thread: taps in a column are read once for all of them.
    pub rows: u32,
    /// Vertically adjacent tiles that a workgroup computes in turn, with prefetching.
    pub steps: u32,
}

impl Shape {
    /// One tile of `width` × `height` pixels, `rows` of them per thread.
    pub const fn new(width: u32, height: u32, rows: u32) -> Self {
        Self {
            width,
            height,
            rows,
            steps: 1,
        }
    }

    /// The shape with this number of tiles per workgroup.
    pub const fn steps(self, steps: u32) -> Self {
        Self { steps, ..self }
    }

    /// Threads of a workgroup.
    pub const fn threads(self) -> u32 {
        self.width * self.height / self.rows
    }

    /// Whether the tile with its halo fits a device.
    pub fn fits(self, target: &Target, radius: u32, bytes_per_pixel: u32) -> bool {
        let (across, down) = self.blocks(radius, 16);
        let whole = self.rows > 0
            && self.height.is_multiple_of(self.rows)
            && self.width.is_multiple_of(across)
            && (self.height / self.rows).is_multiple_of(down);
        let span = (self.width + 2 * radius) * (self.height + 2 * radius);
        whole
            && self.threads() <= target.invocations
            && span * bytes_per_pixel <= target.workgroup_bytes
    }

    /// The best shape that fits a device for an image of this many pixels.
    pub fn best(target: &Target, radius: u32, bytes_per_pixel: u32, pixels: usize) -> Option<Self> {
        let fits = |s: &Self| s.fits(target, radius, bytes_per_pixel);
        let wide = [NARROW_KERNEL].into_iter().filter(|_| radius == 1);
        let shape = wide.chain(PREFERRED).find(fits)?;
        let tiles = pixels / (shape.width * shape.height) as usize;
        let steps = (tiles / ENOUGH).clamp(1, shape.steps as usize);
        Some(shape.steps(steps as u32))
    }

    /// How threads are numbered: columns and rows of the blocks that form subgroups (Dolp 2024, section 3.5).
    pub fn blocks(self, radius: u32, element_bytes: u32) -> (u32, u32) {
        // Vertically adjacent threads are `rows` rows of the tile apart.
        let (d, n) = bank_pattern((self.width + 2 * radius) * self.rows, element_bytes);
        let rows = self.height / self.rows;
        if self.width.is_multiple_of(d) && rows.is_multiple_of(n) {
            (d, n)
        } else {
            (self.width, 1)
        }
    }
}

/// Workgroups that keep a large GPU busy: with more steps per workgroup, parts of it would idle at the end.
const ENOUGH: usize = 2048;

/// The fastest shape for 3×3 taps, whose halo is small.
const NARROW_KERNEL: Shape = Shape::new(32, 8, 2).steps(8);

/// Shapes, the fastest first.
const PREFERRED: [Shape; 4] = [
    Shape::new(16, 8, 2).steps(12),
    Shape::new(8, 8, 2),
    Shape::new(8, 8, 1),
    Shape::new(8, 4, 1),
];

impl std::str::FromStr for Shape {
    type Err = ();

    /// Parses `32x16x2` and `32x16x2x4`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let numbers: Vec<u32> = text.split('x').filter_map(|n| n.parse().ok()).collect();
        match numbers[..] {
            [width, height, rows] if rows > 0 && height % rows == 0 => {
                Ok(Self::new(width, height, rows))
            }
            [width, height, rows, steps @ 1..=64] if rows > 0 && height % rows == 0 => {
                Ok(Self::new(width, height, rows).steps(steps))
            }
            _ => Err(()),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.width, self.height, self.rows)?;
        match self.steps {
            1 => Ok(()),
            steps => write!(f, "x{steps}"),
        }
    }
}

/// Banks of workgroup memory, each 4 bytes wide, as in current GPUs.
const BANKS: u32 = 32;

/// Columns and rows of a block of threads without bank conflicts at any position in a tile of this width (Dolp 2024, section
/// 3.5): `d × n` with `d = gcd(width, banks)` and `n = banks / d`, where elements of more than 4 bytes reduce the number of
/// banks accordingly.
pub(super) fn bank_pattern(width: u32, element_bytes: u32) -> (u32, u32) {
    let banks = (BANKS * 4 / element_bytes.max(4)).max(1);
    let d = gcd(width, banks);
    (d, banks / d)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_the_paper() {
        assert_eq!(bank_pattern(20, 4), (4, 8));
        assert_eq!(bank_pattern(10, 16), (2, 4));
    }

    #[test]
    fn blocks_follow_the_rows_of_a_thread() {
        assert_eq!(Shape::new(16, 16, 1).blocks(2, 16), (4, 2));
        assert_eq!(Shape::new(16, 16, 2).blocks(2, 16), (8, 1));
        assert_eq!(Shape::new(16, 16, 1).blocks(2, 4), (4, 8));
    }

    /// No two threads of a block access the same bank, at any offset, for any width and element.
    #[test]
    fn bank_patterns_are_free_of_conflicts() {
        for width in 1..80 {
            for bytes in [4, 8, 16] {
                let (d, n) = bank_pattern(width, bytes);
                let banks = BANKS * 4 / bytes;
                assert_eq!(d * n, banks);
                for offset in 0..width * 3 {
                    let mut hit = vec![false; banks as usize];
                    for thread in 0..d * n {
                        let at = offset + thread / d * width + thread % d;
                        let bank = (at % banks) as usize;
                        assert!(
                            !std::mem::replace(&mut hit[bank], true),
                            "width {width}, {bytes} bytes"
                        );
                    }
                }
            }
        }
    }
}
