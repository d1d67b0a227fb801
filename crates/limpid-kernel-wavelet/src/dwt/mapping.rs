//! How a scheme is mapped to a GPU.

use limpid_core::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// How samples are exchanged between quads (Kula 2021, chapters 5 and 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Mapping {
    /// Through workgroup memory; a second barrier precedes overwriting.
    #[default]
    Single,
    /// Through double-buffered workgroup memory: no second barrier, smaller regions.
    Double,
    /// Between the lanes of a subgroup: no memory, no barriers. Falls back to `Single` on devices without subgroups of one
    /// size.
    Shuffle,
    /// As `Single`, but the image is read from a texture.
    Texture,
    /// Through textures, with a fragment pass per step.
    Fragment,
    /// CPU: in tiles that stay in the cache, one matrix of the scheme after the other.
    Strips,
    /// Through workgroup memory, with explicit generator parameters.
    Shaped(GroupShape),
}

/// Generator parameters (Kula 2021, chapter 5), written `4q-32x8`, `2q-16x16-double-texture`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupShape {
    /// Vertically adjacent quads per thread.
    pub quads: u16,
    /// Threads of a workgroup along x.
    pub columns: u16,
    /// Threads of a workgroup along y.
    pub rows: u16,
    /// Whether workgroup memory is double-buffered, which saves one barrier per step.
    pub double: bool,
    /// Whether the image is read from a texture.
    pub texture: bool,
    /// Whether memory accesses are omitted, to measure arithmetic and exchange alone. There is no result.
    pub memoryless: bool,
}

impl Mapping {
    /// Whether the image is read from a texture.
    pub fn texture(self) -> bool {
        match self {
            Self::Texture => true,
            Self::Shaped(shape) => shape.texture,
            _ => false,
        }
    }

    /// Whether memory accesses are omitted.
    pub fn memoryless(self) -> bool {
        matches!(self, Self::Shaped(shape) if shape.memoryless)
    }
}

impl fmt::Display for GroupShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}q-{}x{}", self.quads, self.columns, self.rows)?;
        for (there, word) in self.words() {
            if there {
                write!(f, "-{word}")?;
            }
        }
        Ok(())
    }
}

impl GroupShape {
    fn words(&self) -> [(bool, &'static str); 3] {
        [
            (self.double, "double"),
            (self.texture, "texture"),
            (self.memoryless, "memoryless"),
        ]
    }
}

impl FromStr for GroupShape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let expected = "quads per thread (1 to 16), threads (up to 1024) and double, texture or memoryless, such as 4q-32x8 or 2q-16x16-double";
            Error::option("mapping", text, expected)
        };
        let mut words = text.split('-');
        let quads = words.next().and_then(|w| w.strip_suffix('q'));
        let quads: Option<u16> = quads.and_then(|w| w.parse().ok());
        let group = words.next().and_then(|w| w.split_once('x'));
        let group = group.and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
        let (Some(quads), Some((columns, rows))) = (quads, group) else {
            return Err(wrong());
        };
        let rest: Vec<&str> = words.collect();
        let has = |word: &str| rest.contains(&word);
        let shape = Self {
            quads,
            columns,
            rows,
            double: has("double"),
            texture: has("texture"),
            memoryless: has("memoryless"),
        };
        let threads = u32::from(columns) * u32::from(rows);
        let good = (1..=16).contains(&quads) && (1..=1024).contains(&threads);
        if !good || shape.to_string() != text {
            return Err(wrong());
        }
        Ok(shape)
    }
}

const NAMES: [(Mapping, &str); 6] = [
    (Mapping::Single, "single"),
    (Mapping::Double, "double"),
    (Mapping::Shuffle, "shuffle"),
    (Mapping::Texture, "texture"),
    (Mapping::Fragment, "fragment"),
    (Mapping::Strips, "strips"),
];

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Shaped(shape) = self {
            return write!(f, "{shape}");
        }
        f.write_str(NAMES.iter().find(|n| n.0 == *self).map_or("", |n| n.1))
    }
}

impl FromStr for Mapping {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Self::Shaped(text.parse()?));
        }
        let found = NAMES.iter().find(|n| n.1 == text);
        found
            .map(|n| n.0)
            .ok_or_else(|| Error::unknown("mapping", text, NAMES.iter().map(|n| n.1)))
    }
}
