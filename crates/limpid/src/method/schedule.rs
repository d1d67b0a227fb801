//! The choices for a method: layouts, tiles, fusion, scheme, storage type.

use super::Backend;
use std::borrow::Cow;
use std::fmt;

/// A schedule: words joined by colons, such as `two-pass` or `permuted:ascending:exact:tile`.
///
/// A value that prints, compares and can be listed; each method parses the words of its own schedules. Where a name is
/// used for the CPU and the GPU, but the plans differ, the method marks the schedule with its back end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Schedule {
    name: Cow<'static, str>,
    on: Option<Backend>,
}

impl Schedule {
    /// A schedule with this name.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            on: None,
        }
    }

    /// The schedule, for one back end only.
    #[must_use]
    pub fn on(mut self, backend: Backend) -> Self {
        self.on = Some(backend);
        self
    }

    /// The back end it is for, if it was marked with one.
    pub fn backend(&self) -> Option<Backend> {
        self.on
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The words between the colons.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.name.split(':')
    }
}

impl From<String> for Schedule {
    fn from(name: String) -> Self {
        Self {
            name: Cow::Owned(name),
            on: None,
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
