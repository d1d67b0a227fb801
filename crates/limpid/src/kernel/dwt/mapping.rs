//! How a scheme is mapped to a GPU.

use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// Where samples of other quads come from (Kula 2021, chapters 5 and 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Mapping {
    /// From workgroup memory; what was read is overwritten behind a second barrier.
    #[default]
    Single,
    /// From workgroup memory that is there twice: no second barrier, smaller regions.
    Double,
    /// From other lanes of the sub-group: no memory, no barriers. As `Single` on devices without sub-groups of one size.
    Shuffle,
    /// As `Single`, but the image is read from a texture.
    Texture,
    /// From textures, with a fragment pass per step.
    Fragment,
}

const NAMES: [(Mapping, &str); 5] = [
    (Mapping::Single, "single"),
    (Mapping::Double, "double"),
    (Mapping::Shuffle, "shuffle"),
    (Mapping::Texture, "texture"),
    (Mapping::Fragment, "fragment"),
];

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|n| n.0 == *self).map_or("", |n| n.1))
    }
}

impl FromStr for Mapping {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = NAMES.iter().find(|n| n.1 == text);
        found
            .map(|n| n.0)
            .ok_or_else(|| Error::unknown("mapping", text, NAMES.iter().map(|n| n.1)))
    }
}
