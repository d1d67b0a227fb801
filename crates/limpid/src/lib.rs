//! A fast denoiser for renders, image sequences, photographs and films, on any GPU and on the CPU.
//!
//! With a single call, Limpid chooses a method from the layers of the frame, for a render with features or for a photograph.
//!
//! ```
//! use limpid::{Frame, Image, Options};
//! // A grey wall with grain.
//! let grain = |x: usize, y: usize, c: usize| ((x * 31 + y * 57 + c * 91) % 23) as f32 / 23.0 - 0.5;
//! let noisy = Image::from_fn(64, 64, 3, |x, y, c| 0.5 + 0.1 * grain(x, y, c));
//! let clean = limpid::denoise(&Frame::new(noisy.clone())?, &Options::default())?;
//! let spread = |image: &Image| image.data().iter().map(|v| (v - 0.5).powi(2)).sum::<f32>();
//! assert!(spread(clean.color()?) < 0.2 * spread(&noisy));
//! # Ok::<(), limpid::Error>(())
//! ```
//!
//! Files are read and written by [`io`]; everything that was not changed is preserved:
//!
//! ```no_run
//! use limpid::{Options, io};
//! let picture = io::read("render.exr", &io::ReadOptions::default())?;
//! let clean = limpid::denoise(&picture.frame, &Options::default())?;
//! io::write("clean.exr", &clean, Some(&picture.origin), &io::WriteOptions::default())?;
//! # Ok::<(), limpid::Error>(())
//! ```
//!
//! To process many frames, prepare a [`Denoiser`] once; it also keeps the history between frames:
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
//! An engine with its own wgpu device records a [`plan::Plan`] into its own encoder with `exec::gpu::Recorder`; see
//! `examples/recorder.rs`. The crate re-exports the version of `wgpu` that it is built with.
//!
//! Vocabulary: a **frame** is a set of named layers of one size; a **method** is an algorithm with its options; a **schedule**
//! determines how it is mapped to the hardware; a **plan** is a list of passes over slots, as data; a **kernel** is one operation with a CPU
//! and a GPU body; a **definition** is a method in plain scalar code, which every plan is tested against.

#[doc(hidden)]
pub mod conformance;
mod denoiser;
mod fitted;
pub mod method;
#[cfg(feature = "io")]
pub mod raw;
pub mod tune;

/// Methods in plain scalar code, for tests. Not part of the stable interface.
#[doc(hidden)]
pub use limpid_reference::definition;

pub use limpid_exec as exec;
#[cfg(feature = "io")]
pub use limpid_io as io;
/// Wavelet transforms of plain arrays. Not part of the stable interface.
#[doc(hidden)]
pub use limpid_kernel_wavelet::{arrays, bank};
pub use limpid_metric as metric;
pub use limpid_reference::{motion, noise};
pub use limpid_wavelet as wavelet;

/// Plans: slots, passes, and the order of passes.
pub mod plan {
    pub use limpid_plan::{
        Backing, Element, Layout, Memory, Pass, Plan, Role, Slot, SlotId, Until,
    };
    #[doc(hidden)]
    pub use limpid_plan::{Order, Phases};
}

/// The interface of kernels, for operations of other crates.
pub mod kernel {
    #[doc(hidden)]
    pub use limpid_plan::fast_exp;
    pub use limpid_plan::{
        Contract, Dispatch, Job, Kernel, Need, PassSlots, Scope, Stage, Target, View, ViewMut,
        WgslStruct, tiles,
    };
}

pub use limpid_plan::params;

/// The version of wgpu that this crate is built with, for engines that share their device.
#[cfg(feature = "gpu")]
pub use limpid_exec::wgpu;

#[doc(hidden)]
pub use denoiser::blend;
pub use denoiser::{Denoiser, Options, Sequence, denoise, denoise_on};
pub use fitted::FittedPlan;
pub use limpid_core::memory::OutOfMemory;
pub use limpid_core::{
    DeviceFault, Error, Frame, Image, Kind, LUMINANCE, Layer, Mended, Part, Result, Shape, Size,
    linear_to_srgb, luminance, srgb_to_linear,
};
pub use limpid_exec::{Device, DeviceLimits, Watch};
