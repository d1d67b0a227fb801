//! Pixel orders.
//!
//! [`Phases`] is the order of Dolp 2024: the image is split repeatedly into its even and odd pixels along both axes, and the
//! sub-images are placed side by side in an image of the same size. After `level` splits, taps that were `2^level` pixels apart
//! are neighbours. Both axes are split in the same way, so everything here refers to one axis of `n` pixels.
//!
//! Invariants: an order is a bijection of `0..n` for every `n`, even below `2^level`.

use std::fmt;
use std::ops::Range;

/// The order of a slot's pixels in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Layout {
    /// Row by row, as in the image.
    #[default]
    Rows,
    /// Split into even and odd pixels in both axes: `4^level` sub-images (Dolp 2024).
    Phases(Phases),
    /// Four planes, one for each position in a 2×2 quad (polyphase).
    Quads,
}

/// The order of sub-images (Dolp 2024, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// Sorted by the sub-image's first pixel.
    Ascending,
    /// Each sub-image is split in place: sorted by the reversed bits of the first pixel.
    Local,
}

/// An image after `level` splits into even and odd pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Phases {
    /// Number of splits.
    pub level: u32,
    /// The order of sub-images.
    pub order: Order,
    /// Whether every other sub-image is flipped, so that pixels on both sides of a seam are close to each other in the
    /// image (Dolp 2024, section 3.4).
    pub mirror: bool,
}

impl Phases {
    /// The order after one more split.
    #[must_use]
    pub fn split(self) -> Self {
        Self {
            level: self.level + 1,
            ..self
        }
    }

    /// The range of positions that a stencil may reach from a position without leaving its sub-image. In mirrored orders
    /// stencils may cross sub-images, so it is the whole axis.
    pub fn span(self, n: usize, place: usize) -> Range<usize> {
        if self.mirror {
            return 0..n;
        }
        let first = self.pixel(n, place) & (self.step() - 1);
        let start = self.start(n, first);
        start..start + self.len(n, first)
    }

    /// The position of pixel `x` of `n`.
    ///
    /// ```
    /// # mod limpid { pub mod plan { pub use limpid_plan::*; } pub mod kernel { pub use limpid_plan::*; } }
    /// use limpid::plan::{Order, Phases};
    /// let once = Phases { level: 1, order: Order::Ascending, mirror: false };
    /// assert_eq!([0, 1, 2, 3, 4].map(|x| once.place(5, x)), [0, 3, 1, 4, 2]);
    /// ```
    pub fn place(self, n: usize, x: usize) -> usize {
        if self.level == 0 {
            return x;
        }
        if self.mirror && self.order == Order::Ascending {
            // The first split flips the odd half; later splits treat the result as the image.
            return self.unflipped().place(n, flip_odd(n, x));
        }
        let first = x & (self.step() - 1);
        let (start, index) = (self.start(n, first), x >> self.level);
        if self.flips(first) {
            start + self.len(n, first) - 1 - index
        } else {
            start + index
        }
    }

    /// The pixel at a position: the inverse of [`Phases::place`].
    pub fn pixel(self, n: usize, place: usize) -> usize {
        if self.level == 0 {
            return place;
        }
        if self.mirror && self.order == Order::Ascending {
            let half = n.div_ceil(2);
            let at = self.unflipped().pixel(n, place);
            return if at < half {
                2 * at
            } else {
                2 * (n - 1 - at) + 1
            };
        }
        let first = self.first_at(n, place);
        let index = place - self.start(n, first);
        let index = if self.flips(first) {
            self.len(n, first) - 1 - index
        } else {
            index
        };
        first + (index << self.level)
    }

    fn step(self) -> usize {
        1 << self.level
    }

    /// The order that a mirrored ascending one follows after its first split.
    fn unflipped(self) -> Self {
        Self {
            level: self.level - 1,
            mirror: false,
            ..self
        }
    }

    /// Whether the sub-image that starts with pixel `first` is flipped: if its position in the grid, the reversed bits of
    /// `first`, is odd.
    fn flips(self, first: usize) -> bool {
        self.mirror && self.level > 0 && first >> (self.level - 1) & 1 == 1
    }

    /// Pixels of the sub-image that starts with pixel `first`.
    fn len(self, n: usize, first: usize) -> usize {
        (n + self.step() - 1).saturating_sub(first) >> self.level
    }

    /// The position at which the sub-image that starts with pixel `first` begins.
    fn start(self, n: usize, first: usize) -> usize {
        match self.order {
            Order::Ascending => first * (n >> self.level) + first.min(n & (self.step() - 1)),
            Order::Local => {
                let (mut start, mut len) = (0, n);
                for bit in 0..self.level {
                    let even = len.div_ceil(2);
                    if first >> bit & 1 == 1 {
                        start += even;
                        len -= even;
                    } else {
                        len = even;
                    }
                }
                start
            }
        }
    }

    /// First pixel of the sub-image that covers a position.
    fn first_at(self, n: usize, place: usize) -> usize {
        match self.order {
            Order::Ascending => {
                let (short, longer) = (n >> self.level, n & (self.step() - 1));
                if place < longer * (short + 1) {
                    place / (short + 1)
                } else {
                    longer + (place - longer * (short + 1)) / short.max(1)
                }
            }
            Order::Local => {
                let (mut start, mut len, mut first) = (0, n, 0);
                for bit in 0..self.level {
                    let even = len.div_ceil(2);
                    if place >= start + even {
                        start += even;
                        len -= even;
                        first |= 1 << bit;
                    } else {
                        len = even;
                    }
                }
                first
            }
        }
    }
}

/// The first mirrored split: even pixels in order, then odd pixels in reverse.
fn flip_odd(n: usize, x: usize) -> usize {
    if x.is_multiple_of(2) {
        x / 2
    } else {
        n - 1 - x / 2
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows => f.write_str("rows"),
            Self::Phases(phases) => {
                let order = match phases.order {
                    Order::Ascending => "ascending",
                    Order::Local => "local",
                };
                let mirror = if phases.mirror { ":mirror" } else { "" };
                write!(f, "phases:{}:{order}{mirror}", phases.level)
            }
            Self::Quads => f.write_str("quads"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(level: u32, order: Order, mirror: bool) -> String {
        let phases = Phases {
            level,
            order,
            mirror,
        };
        let all: Vec<String> = (0..16).map(|i| phases.pixel(16, i).to_string()).collect();
        all.join(" ")
    }

    /// Dolp 2024, figure 6: the order after iteration `l` is that of `l + 1` splits.
    #[test]
    fn orders_are_those_of_figure_6() {
        use Order::{Ascending, Local};
        for (level, order, mirror, expected) in [
            (1, Ascending, true, "0 2 4 6 8 10 12 14 15 13 11 9 7 5 3 1"),
            (2, Ascending, true, "0 4 8 12 15 11 7 3 2 6 10 14 13 9 5 1"),
            (3, Ascending, true, "0 8 15 7 2 10 13 5 4 12 11 3 6 14 9 1"),
            (4, Ascending, true, "0 15 2 13 4 11 6 9 8 7 10 5 12 3 14 1"),
            (1, Ascending, false, "0 2 4 6 8 10 12 14 1 3 5 7 9 11 13 15"),
            (2, Ascending, false, "0 4 8 12 1 5 9 13 2 6 10 14 3 7 11 15"),
            (1, Local, true, "0 2 4 6 8 10 12 14 15 13 11 9 7 5 3 1"),
            (2, Local, true, "0 4 8 12 14 10 6 2 1 5 9 13 15 11 7 3"),
            (3, Local, true, "0 8 12 4 2 10 14 6 1 9 13 5 3 11 15 7"),
            (2, Local, false, "0 4 8 12 2 6 10 14 1 5 9 13 3 7 11 15"),
            (3, Local, false, "0 8 4 12 2 10 6 14 1 9 5 13 3 11 7 15"),
        ] {
            assert_eq!(
                pixels(level, order, mirror),
                expected,
                "{level} {order:?} {mirror}"
            );
        }
    }

    #[test]
    fn mirrored_orders_are_those_of_the_definition() {
        for n in (1..40).chain([135, 240, 241]) {
            for level in 0..10 {
                for order in [Order::Ascending, Order::Local] {
                    let phases = Phases {
                        level,
                        order,
                        mirror: true,
                    };
                    let pixels: Vec<usize> = (0..n).map(|place| phases.pixel(n, place)).collect();
                    let local = order == Order::Local;
                    let defined =
                        limpid_reference::definition::atrous::mirrored(n, level as usize, local);
                    assert_eq!(pixels, defined, "{n} {level} {order:?}");
                }
            }
        }
    }

    #[test]
    fn every_size_is_a_bijection() {
        for n in (1..40).chain([135, 240, 241]) {
            for level in 0..10 {
                for order in [Order::Ascending, Order::Local] {
                    for mirror in [false, true] {
                        let phases = Phases {
                            level,
                            order,
                            mirror,
                        };
                        let mut seen = vec![false; n];
                        for x in 0..n {
                            let place = phases.place(n, x);
                            assert!(!std::mem::replace(&mut seen[place], true));
                            assert_eq!(phases.pixel(n, place), x);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn neighbours_in_a_span_lie_a_step_apart() {
        for n in [1, 5, 16, 23, 100] {
            for order in [Order::Ascending, Order::Local] {
                for level in 0..6 {
                    let phases = Phases {
                        level,
                        order,
                        mirror: false,
                    };
                    for place in 0..n {
                        let span = phases.span(n, place);
                        assert!(span.contains(&place));
                        let x = phases.pixel(n, place);
                        if place + 1 < span.end {
                            assert_eq!(phases.pixel(n, place + 1), x + (1 << level));
                        } else {
                            assert!(x + (1 << level) >= n);
                        }
                    }
                }
            }
        }
    }
}
