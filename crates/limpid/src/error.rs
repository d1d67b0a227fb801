//! One error type, told apart by whose fault it is.

use std::path::{Path, PathBuf};

/// What can go wrong, by whose fault it is.
///
/// Messages say which file or layer is meant, what was expected and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input is wrong: a broken file, a missing layer, layers of different sizes, an option out of range.
    #[error("{0}")]
    Input(String),
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
        /// What the system said. Part of the message, so not a source that would be told again.
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
}

/// A result with Limpid's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The input is wrong.
    pub fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
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
    /// assert_eq!(error.to_string(), "unknown method 'atrus'. Did you mean 'atrous'? Known: atrous, svgf, nlm");
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
        let hint = near
            .map(|(_, k)| format!(" Did you mean '{k}'?"))
            .unwrap_or_default();
        Self::Input(format!(
            "unknown {what} '{name}'.{hint} Known: {}",
            known.join(", ")
        ))
    }
}

/// Edit distance, for the nearest name.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let change = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
