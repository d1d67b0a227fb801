//! What every part of Limpid uses: errors, images, frames, memory and SIMD levels.
//!
//! This crate is a part of [`limpid`](https://docs.rs/limpid), which re-exports what applications need.

mod error;
mod frame;
mod image;
#[doc(hidden)]
pub mod memory;
#[doc(hidden)]
pub mod simd;

pub use error::{DeviceFault, Error, Result};
#[doc(hidden)]
pub use fearless_simd;
pub use frame::{Frame, Kind, Layer, Mended, Part, Shape};
pub use image::{Image, LUMINANCE, Size, linear_to_srgb, luminance, srgb_to_linear};
