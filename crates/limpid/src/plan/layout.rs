//! Pixel orders.

use std::fmt;

/// The order in which a slot's pixels lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Layout {
    /// Row by row, as in the image.
    #[default]
    Rows,
    /// After `level` splits into even and odd pixels in both axes: `4^level` sub-images (Dolp 2024).
    Phases {
        /// Number of splits.
        level: u32,
    },
    /// Four planes, one for each position in a 2×2 quad (polyphase).
    Quads,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows => f.write_str("rows"),
            Self::Phases { level } => write!(f, "phases:{level}"),
            Self::Quads => f.write_str("quads"),
        }
    }
}
