//! One error type, whose variants say where the fault lies.

use crate::Layer;
use std::path::{Path, PathBuf};

/// Errors, by where the fault lies.
///
/// Messages name the file or layer, what was expected and how to fix it, in terms of the library. A program adds its own
/// context, such as the spelling of an option on its command line.
///
/// ```
/// # use limpid_core as limpid;
/// use limpid::{Error, Layer};
/// match "nromal".parse::<Layer>() {
///     Err(Error::Unknown { near, .. }) => assert_eq!(near.as_deref(), Some("normal")),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input is wrong in another way than those below: a file that is no image, a layer that holds something else.
    #[error("{0}")]
    Input(String),
    /// A file is damaged or incomplete.
    #[error("{0}")]
    Damaged(String),
    /// The input is larger than a limit that was set, or than anything that can be processed.
    #[error("{0}")]
    TooLarge(String),
    /// Sizes or numbers of channels do not fit each other, or do not fit the plan.
    #[error("{0}")]
    Mismatch(String),
    /// An option has a value that is not allowed, or not with the other options.
    #[error("{name} {value}: expected {expected}")]
    Option {
        /// The option's name, with hyphens.
        name: String,
        /// The value that was given.
        value: String,
        /// What is allowed.
        expected: String,
    },
    /// An unknown name.
    #[error("unknown {what} '{name}'. {}", hint(near.as_deref(), known))]
    Unknown {
        /// What the name stands for: a method, for example.
        what: String,
        /// The name that was given.
        name: String,
        /// The nearest known name, if one is close.
        near: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// The frame lacks a layer that the method needs.
    #[error("layer {layer} is missing{}", because(why))]
    Missing {
        /// The layer.
        layer: Layer,
        /// What it is needed for, or which layer can replace it; may be empty.
        why: String,
    },
    /// The input is fine, but this build, method or device cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// The device failed or does not exist.
    #[error("{device}: {fault}")]
    Device {
        /// The device's name.
        device: String,
        /// What happened to it.
        fault: DeviceFault,
    },
    /// Reading or writing failed.
    #[error("{}: {}", path.display(), system(cause))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's message. It is part of the error message, and therefore not also a source.
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
    NotFound(String),
    /// The work does not fit its memory.
    #[error("out of memory. {0}")]
    OutOfMemory(String),
    /// The driver reset it or it was unplugged.
    #[error("device lost. {0}")]
    Lost(String),
    /// The driver refused a shader or a call.
    #[error("{0}")]
    Rejected(String),
    /// The driver exceeded its time limit.
    #[error("no answer. {0}")]
    Timeout(String),
}

/// A result with Limpid's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The input is wrong.
    pub fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
    }

    /// A file is damaged or incomplete.
    pub fn damaged(message: impl Into<String>) -> Self {
        Self::Damaged(message.into())
    }

    /// The input is too large.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::TooLarge(message.into())
    }

    /// Sizes or numbers of channels do not fit.
    pub fn mismatch(message: impl Into<String>) -> Self {
        Self::Mismatch(message.into())
    }

    /// Whether the fault lies in the input.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Input(_) | Self::Damaged(_) | Self::TooLarge(_) | Self::Mismatch(_)
        )
    }

    /// A value that an option does not allow.
    pub fn option(name: &str, value: impl ToString, expected: impl Into<String>) -> Self {
        Self::Option {
            name: name.to_owned(),
            value: value.to_string(),
            expected: expected.into(),
        }
    }

    /// A required layer is missing.
    pub fn missing(layer: impl Into<Layer>, why: impl Into<String>) -> Self {
        Self::Missing {
            layer: layer.into(),
            why: why.into(),
        }
    }

    /// The input is fine, but it cannot be processed here.
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

    /// The system's message in words, without its error number.
    #[doc(hidden)]
    pub fn system(cause: &std::io::Error) -> String {
        system(cause)
    }

    /// An unknown name, with the nearest known ones.
    ///
    /// ```
    /// # use limpid_core as limpid;
    /// let error = limpid::Error::unknown("method", "atrus", ["atrous", "svgf", "nlm"]);
    /// assert_eq!(error.to_string(), "unknown method 'atrus'. Did you mean 'atrous'?");
    /// let error = limpid::Error::unknown("method", "sharpen", ["atrous", "svgf", "nlm"]);
    /// assert_eq!(error.to_string(), "unknown method 'sharpen'. Known: atrous, svgf, nlm");
    /// ```
    pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::unknown_of(what, name, &known.into_iter().collect::<Vec<_>>())
    }

    fn unknown_of(what: &str, name: &str, known: &[&str]) -> Self {
        let near = known
            .iter()
            .flat_map(|k| {
                // `permuted` may be meant for `permuted:local`, and `gaussian` for `filter:gaussian`.
                let parts = [k.split(':').next(), k.rsplit(':').next(), Some(*k)];
                parts.map(|part| (part.unwrap_or(k), *k))
            })
            .map(|(part, k)| (distance(name, part), part.len(), k))
            .filter(|(d, length, _)| *d <= 1 + length / 3)
            .min_by_key(|(d, _, k)| (*d, *k));
        Self::Unknown {
            what: what.to_owned(),
            name: name.to_owned(),
            near: near.map(|(_, _, k)| k.to_owned()),
            known: known.iter().map(|&k| k.to_owned()).collect(),
        }
    }
}

/// Maximum number of known names in a message.
const LISTED: usize = 16;

/// The nearest name, or a list of known names if none is close.
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

/// The system's message in words, without its error number.
fn system(cause: &std::io::Error) -> String {
    use std::io::ErrorKind;
    // A message of this library says more than the kind.
    if cause.raw_os_error().is_none() && cause.get_ref().is_some() {
        return cause.to_string();
    }
    match cause.kind() {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::AlreadyExists => "exists already; choose another name".to_owned(),
        ErrorKind::IsADirectory => "is a folder; name a file".to_owned(),
        ErrorKind::NotADirectory => "a part of this path is a file, not a folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied; choose another place".to_owned(),
        _ => {
            let text = cause.to_string();
            match text.split_once(" (os error") {
                Some((words, _)) => words.to_owned(),
                None => text,
            }
        }
    }
}

fn because(why: &str) -> String {
    match why {
        "" => String::new(),
        why => format!("; {why}"),
    }
}

/// Edit distance, for finding the nearest name: insertions, deletions, substitutions and transpositions of letters.
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
