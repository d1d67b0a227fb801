//! The oracle: every method in plain scalar code, and the noise of images.
//!
//! This crate is a part of [`limpid`](https://docs.rs/limpid). Definitions are short, obvious and slow; all plans are compared
//! with them. Constants that kernels share with their definition are here too.

pub mod definition;
pub mod motion;
pub mod noise;
