//! The choices for a method: layouts, tiles, fusion, scheme, storage type.

use std::borrow::Cow;
use std::fmt;

/// A schedule: words joined by colons, such as `two-pass` or `permuted:ascending:exact:tile`.
///
/// A value that prints, compares and can be listed; each method parses the words of its own schedules.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Schedule(Cow<'static, str>);

impl Schedule {
    /// A schedule with this name.
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The words between the colons.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split(':')
    }
}

impl From<String> for Schedule {
    fn from(name: String) -> Self {
        Self(Cow::Owned(name))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
