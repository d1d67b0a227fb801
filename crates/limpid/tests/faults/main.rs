//! Devices that fail, and many denoisers at once.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod concurrent;
#[cfg(feature = "gpu")]
mod devices;
#[expect(dead_code, reason = "only plain frames are needed here")]
#[path = "../support/mod.rs"]
mod support;
