//! One error type; its variants say whose fault it is.

use crate::Layer;
use std::path::{Path, PathBuf};

/// What can go wrong, by whose fault it is.
///
/// Messages say which file or layer is meant, what was expected and what to do about it, in the library's words: a program adds
/// its own, such as how an option is written on its command line.
///
/// ```
/// use limpid::{Error, FittedPlan, Options, DeviceLimits, Shape, Size, method::Gaussian};
/// let options = Options::new(Gaussian { radius: 3, sigma: Some(-1.0) });
/// let shape = Shape::color(Size::new(8, 8), 3);
/// match FittedPlan::new(DeviceLimits::Cpu, &shape, &options) {
///     Err(Error::Option { name, value, .. }) => assert_eq!((&*name, &*value), ("sigma", "-1")),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input is wrong: a broken file, layers of different sizes.
    #[error("{0}")]
    Input(String),
    /// An option has a value that is not allowed, or not with the other options.
    #[error("{name} {value}: expected {expected}")]
    Option {
        /// The option's name, with hyphens.
        name: String,
        /// The value that was given.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// A name that nothing has.
    #[error("unknown {what} '{name}'. {}", hint(near.as_deref(), known))]
    Unknown {
        /// What was looked for: a method, say.
        what: String,
        /// The name that was given.
        name: String,
        /// The nearest known name, where one is near.
        near: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// The frame does not have a layer that the method needs.
    #[error("layer {layer} is missing{}", because(why))]
    Missing {
        /// The layer.
        layer: Layer,
        /// What it is needed for, or what else would do; may be empty.
        why: String,
    },
    /// The input is fine, but this build, method or device cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// The device failed or is not there.
    #[error("{device}: {fault}")]
    Device {
        /// The device's name.
        device: String,
        /// What happened to it.
        fault: DeviceFault,
    },
    /// Reading or writing failed.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said. It is part of the message, and so not a source as well.
        cause: std::io::Error,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// What happened to a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceFault {
    /// No such device on this machine.
    #[error("not found. {0}")]
    Absent(String),
    /// The work does not fit its memory.
    #[error("out of memory. {0}")]
    OutOfMemory(String),
    /// The driver reset it or it was unplugged.
    #[error("device lost. {0}")]
    Lost(String),
    /// The driver refused a shader or a call.
    #[error("{0}")]
    Refused(String),
    /// The driver took longer than it may.
    #[error("no answer. {0}")]
    NoAnswer(String),
}

/// A result with Limpid's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The input is wrong.
    pub fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
    }

    /// A value that an option cannot have.
    pub fn option(name: &str, value: impl ToString, expected: impl Into<String>) -> Self {
        Self::Option {
            name: name.to_owned(),
            value: value.to_string(),
            expected: expected.into(),
        }
    }

    /// A layer that is needed is not there.
    pub fn missing(layer: impl Into<Layer>, why: impl Into<String>) -> Self {
        Self::Missing {
            layer: layer.into(),
            why: why.into(),
        }
    }

    /// The input is fine, but it cannot be done here.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::Unsupported(message.into())
    }

    /// A device failed.
    pub fn device(device: impl Into<String>, fault: DeviceFault) -> Self {
        Self::Device {
            device: device.into(),
            fault,
        }
    }

    /// A file could not be read or written.
    pub fn io(path: impl AsRef<Path>, cause: std::io::Error) -> Self {
        Self::Io {
            path: path.as_ref().to_owned(),
            cause,
        }
    }

    /// An unknown name, with the nearest known ones.
    ///
    /// ```
    /// let error = limpid::Error::unknown("method", "atrus", ["atrous", "svgf", "nlm"]);
    /// assert_eq!(error.to_string(), "unknown method 'atrus'. Did you mean 'atrous'?");
    /// let error = limpid::Error::unknown("method", "sharpen", ["atrous", "svgf", "nlm"]);
    /// assert_eq!(error.to_string(), "unknown method 'sharpen'. Known: atrous, svgf, nlm");
    /// ```
    pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let near = known
            .iter()
            .flat_map(|k| {
                // The first word of `permuted:local` may be all that was meant.
                let first = k.split(':').next().unwrap_or(k);
                [(distance(name, k), *k), (distance(name, first), *k)]
            })
            .min()
            .filter(|(d, k)| *d <= 1 + k.len() / 3);
        Self::Unknown {
            what: what.to_owned(),
            name: name.to_owned(),
            near: near.map(|(_, k)| k.to_owned()),
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// How many known names a message lists.
const LISTED: usize = 16;

/// The nearest name, or the known ones where none is near.
fn hint(near: Option<&str>, known: &[String]) -> String {
    if let Some(near) = near {
        return format!("Did you mean '{near}'?");
    }
    let first = known[..known.len().min(LISTED)].join(", ");
    match known.len().saturating_sub(LISTED) {
        0 => format!("Known: {first}"),
        more => format!("Known: {first} and {more} more"),
    }
}

fn because(why: &str) -> String {
    match why {
        "" => String::new(),
        why => format!("; {why}"),
    }
}

/// Edit distance, for the nearest name: letters that are inserted, removed, replaced or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut least = last[j] + usize::from(a[i] != b[j]);
            least = least.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = last;
        last = row;
    }
    last[b.len()]
}
