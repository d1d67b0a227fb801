//! What the papers behind Limpid compare with, count and demonstrate, and products do not need.
//!
//! * [`versus`]: the methods that Dammertz 2010 compares the à-trous filter with;
//! * [`cost`]: what the schemes of a wavelet transform cost (Kula 2021);
//! * [`caches`]: the best of several candidates from a few pixels that are known well (Vicini 2015).
//!
//! They stand on the library as any other crate does: their shaders run with wgpu's checks. [`methods`] lists the library's
//! methods and these.

pub mod caches;
pub mod cost;
pub mod versus;

use limpid::Result;
use limpid::method::{self, Entry, METHODS, Method, Use};

/// All methods: those of the library, then those to compare with.
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
