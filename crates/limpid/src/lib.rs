//! Limpid takes noise out of images, fast, on any GPU and on the CPU.
//!
//! One call, any device:
//!
//! ```
//! use limpid::{method::Gaussian, Frame, Image, Options};
//! let frame = Frame::new(Image::new(64, 64, 3))?;
//! let out = limpid::denoise(&frame, &Options::new(Gaussian::default()))?;
//! # Ok::<(), limpid::Error>(())
//! ```
//!
//! Commit once, run many; history between frames lives in the [`Denoiser`]:
//!
//! ```
//! # use limpid::{method::Gaussian, Denoiser, Device, Frame, Image, Options};
//! # let frame = Frame::new(Image::new(64, 64, 3))?;
//! let device = Device::open("cpu")?;
//! let mut denoiser = Denoiser::new(&device, &frame.shape(), &Options::new(Gaussian::default()))?;
//! let out = denoiser.run(&frame)?;
//! # Ok::<(), limpid::Error>(())
//! ```
//!
//! An engine with its own wgpu device records a [`plan::Plan`] into its own encoder: `exec::gpu::Recorder`.
//!
//! The words: a **frame** is named layers of one size; a **method** is an algorithm with its options; a **schedule** is how
//! it is mapped to the machine; a **plan** is passes over slots, as data; a **kernel** is one operation with a CPU and a
//! GPU body; a **definition** is a method in plain scalar code, which every plan is held to.

mod denoiser;
mod device;
mod error;
mod fit;
mod frame;
mod image;
#[cfg(feature = "io")]
pub mod io;
mod memory;
pub mod metric;
pub mod noise;

/// Methods in plain scalar code, for tests. No part of the interface: it changes as the methods do.
#[doc(hidden)]
pub mod definition;
pub mod exec;
pub mod kernel;
pub mod method;
pub mod plan;
pub mod tune;
pub mod wavelet;

/// Parts of kernels that the example `window_dft` measures.
#[doc(hidden)]
pub mod measured {
    pub use crate::kernel::ddid::{panel, table};
    pub use crate::kernel::fourier;
}

/// The version of wgpu that this crate is built with, for engines that share their device.
#[cfg(feature = "gpu")]
pub use wgpu;

pub use denoiser::{Denoiser, Options, Sequence, denoise, denoise_on};
pub use device::Device;
pub use error::{DeviceFault, Error, Result};
pub use exec::Watch;
pub use fit::{DeviceLimits, FittedPlan};
pub use frame::{Frame, Kind, Layer, Mended, Part, Shape};
pub use image::{Image, LUMINANCE, Size, linear_to_srgb, luminance, srgb_to_linear};
