//! Comparison methods, cost counts and experiments from the papers behind Limpid, for research.
//!
//! * [`versus`]: the methods that Dammertz 2010 compares the à-trous filter with;
//! * [`cost`]: costs of the schemes of a wavelet transform (Kula 2021);
//! * [`caches`]: choosing the best of several candidates from a few pixels with references (Vicini 2015).
//!
//! This crate uses the library like any other crate: its shaders run with wgpu's runtime checks. [`methods`] lists the methods of
//! the library and of this crate.

pub mod caches;
pub mod cost;
pub mod versus;

use limpid::Result;
use limpid::method::{self, Entry, METHODS, Method, Use};

/// All methods: those of the library, then those for comparison.
pub fn methods() -> impl Iterator<Item = &'static Entry> {
    METHODS.iter().chain(versus::METHODS)
}

/// A method by its [`Entry::path`].
///
/// ```
/// assert_eq!(limpid_lab::entry("redblack")?.name, "redblack");
/// assert_eq!(limpid_lab::entry("filter:gaussian")?.name, "gaussian");
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn entry(path: &str) -> Result<&'static Entry> {
    method::entry_of(methods(), path)
}

/// A method with default options, by use and name.
pub fn find(used: Use, name: &str) -> Result<Box<dyn Method>> {
    method::find_in(methods(), used, name)
}
