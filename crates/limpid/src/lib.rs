//! Limpid takes noise out of images, fast, on any GPU and on the CPU.

mod error;
mod frame;
mod image;
pub mod wavelet;

pub use error::{DeviceFault, Error, Result};
pub use frame::{Frame, Kind, Layer, Mended, Part, Shape};
pub use image::{Image, LUMINANCE, Size, linear_to_srgb, luminance, srgb_to_linear};
