//! How a scheme is mapped to a GPU.

use limpid_core::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// How samples are exchanged between quads (Kula 2021, chapters 5, 6 and 10).
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
    /// In two passes, along rows and along columns, with this many pairs of coefficients per thread.
    Pipeline(u16),
    /// CPU: in tiles, one stage of the scheme after the other.
    Strips(StripTile),
    /// Through workgroup memory, with explicit generator parameters.
    Shaped(GroupShape),
}

/// Generator parameters (Kula 2021, chapter 5), written `4q-32x8`, `2x2q-16x8`, `2q-16x16-double-texture`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupShape {
    /// Quads per thread along y.
    pub quads: u16,
    /// Quads per thread along x.
    pub across: u16,
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

/// A tile on the CPU, written `strips`, `strips-64x32`, `strips-1024x1024-shared`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StripTile {
    /// Quads along x.
    pub columns: u16,
    /// Quads along y.
    pub rows: u16,
    /// Whether all threads work on one tile and wait for each other after each stage (Kula 2021, chapter 10), instead of each
    /// on its own.
    pub shared: bool,
}

impl Default for StripTile {
    /// The rows that stages keep fit the second-level cache; narrower tiles, which would fit the first, start more rows.
    fn default() -> Self {
        Self {
            columns: 512,
            rows: 256,
            shared: false,
        }
    }
}

impl fmt::Display for StripTile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("strips")?;
        if *self != Self::default() {
            write!(f, "-{}x{}", self.columns, self.rows)?;
        }
        f.write_str(if self.shared { "-shared" } else { "" })
    }
}

impl FromStr for StripTile {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let expected = "quads of a tile, 8 to 4096 in each direction, and shared, such as strips-64x32 or strips-1024x1024-shared";
            Error::option("mapping", text, expected)
        };
        let rest = text.strip_prefix("strips").ok_or_else(wrong)?;
        let (rest, shared) = match rest.strip_suffix("-shared") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        if rest.is_empty() && !shared {
            return Ok(Self::default());
        }
        let size = rest.strip_prefix('-').and_then(|r| r.split_once('x'));
        let size = size.and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
        let (columns, rows) = size.ok_or_else(wrong)?;
        let good = |n| (8..=4096).contains(&n);
        if !good(columns) || !good(rows) {
            return Err(wrong());
        }
        Ok(Self {
            columns,
            rows,
            shared,
        })
    }
}

/// Pairs per thread of `pipeline` without a number: the fastest in the thesis.
pub(super) const PAIRS: u16 = 4;

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
        if self.across > 1 {
            write!(f, "{}x", self.across)?;
        }
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
            let expected = "quads per thread (1 to 16, or 2x2), threads (up to 1024) and double, texture or memoryless, such as 4q-32x8, 2x2q-16x8 or 2q-16x16-double";
            Error::option("mapping", text, expected)
        };
        let mut words = text.split('-');
        let quads = words.next().and_then(|w| w.strip_suffix('q'));
        let quads = quads.map(|w| w.split_once('x').unwrap_or(("1", w)));
        let quads = quads.and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
        let group = words.next().and_then(|w| w.split_once('x'));
        let group = group.and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
        let (Some((across, quads)), Some((columns, rows))): (Option<(u16, u16)>, _) =
            (quads, group)
        else {
            return Err(wrong());
        };
        let rest: Vec<&str> = words.collect();
        let has = |word: &str| rest.contains(&word);
        let shape = Self {
            quads,
            across,
            columns,
            rows,
            double: has("double"),
            texture: has("texture"),
            memoryless: has("memoryless"),
        };
        let threads = u32::from(columns) * u32::from(rows);
        let each = u32::from(quads) * u32::from(across);
        let good = (1..=16).contains(&each) && (1..=1024).contains(&threads);
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
    (Mapping::Pipeline(PAIRS), "pipeline"),
];

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shaped(shape) => return write!(f, "{shape}"),
            Self::Strips(tile) => return write!(f, "{tile}"),
            Self::Pipeline(pairs) if *pairs != PAIRS => return write!(f, "pipeline-{pairs}"),
            _ => {}
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
        if text.starts_with("strips") {
            return Ok(Self::Strips(text.parse()?));
        }
        if let Some(pairs) = text.strip_prefix("pipeline-") {
            let known = pairs.parse().ok().filter(|n| (1..=16).contains(n));
            let known = known.ok_or_else(|| {
                let expected = "1 to 16 pairs per thread, such as pipeline-4";
                Error::option("mapping", text, expected)
            })?;
            return Ok(Self::Pipeline(known));
        }
        let found = NAMES.iter().find(|n| n.1 == text);
        found.map(|n| n.0).ok_or_else(|| {
            let names = NAMES.iter().map(|n| n.1);
            Error::unknown("mapping", text, names.chain(["strips"]))
        })
    }
}
