//! Devices that fail, and many denoisers at once.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod concurrent;
#[cfg(feature = "gpu")]
mod devices;
#[path = "../support/mod.rs"]
mod support;
