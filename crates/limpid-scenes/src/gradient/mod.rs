//! Gradient-domain path tracing (Kettunen 2015; Vicini 2015, section 5.2).
//!
//! Each path of a pixel is shifted to its four neighbours by a deterministic map, and the difference of what the two paths
//! carry is the sample of the gradient. The same difference is also sampled from the neighbour, with the other sign; the two
//! are weighted by the balance heuristic over all ways in which either path can have been made, which keeps the sum unbiased
//! wherever the map has an inverse and where it has none.
//!
//! Invariants: the map depends on the path alone, never on how it was sampled; a map and its inverse take the same
//! decisions, because they compare the classes of both paths' vertices.

mod shift;

use crate::path::{End, Node, Recorder};
use limpid::Size;

pub(crate) use shift::difference;

/// A neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Right,
    Left,
    Down,
    Up,
}

impl Direction {
    pub(crate) const ALL: [Self; 4] = [Self::Right, Self::Left, Self::Down, Self::Up];

    /// The step in pixels.
    pub(crate) fn step(self) -> (i32, i32) {
        match self {
            Self::Right => (1, 0),
            Self::Left => (-1, 0),
            Self::Down => (0, 1),
            Self::Up => (0, -1),
        }
    }

    /// The neighbour of a pixel, if it is in the picture.
    pub(crate) fn neighbour(self, (x, y): (usize, usize), size: Size) -> Option<(usize, usize)> {
        let (dx, dy) = self.step();
        let x = x
            .checked_add_signed(dx as isize)
            .filter(|x| *x < size.width)?;
        let y = y
            .checked_add_signed(dy as isize)
            .filter(|y| *y < size.height)?;
        Some((x, y))
    }
}

/// A path with everything that was tried along it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub(crate) first: Option<End>,
    pub(crate) nodes: Vec<Node>,
}

impl Record {
    pub(crate) fn clear(&mut self) {
        self.first = None;
        self.nodes.clear();
    }
}

impl Recorder for Record {
    const ON: bool = true;

    fn first(&mut self, end: &End) {
        self.first = Some(*end);
    }

    fn node(&mut self, node: Node) {
        self.nodes.push(node);
    }
}
