//! How a method runs, as plain data, and the interface of kernels.
//!
//! This crate is a part of [`limpid`](https://docs.rs/limpid). A [`Plan`] is a list of passes over slots; a pass applies a
//! [`Kernel`], an operation with a contract and a body for each device. Kernels that read a few neighbours are written once, as a
//! [`stencil`]. What the bodies of larger kernels share is here as well: the [`wgsl`] builder, the parameters of shaders
//! ([`params!`]), and for the CPU row rings, sliding sums, non-temporal stores, fast exponentials and Fourier transforms.

mod backend;
mod dispatch;
#[doc(hidden)]
pub mod fast_exp;
#[doc(hidden)]
pub mod fourier;
#[doc(hidden)]
pub mod half;
mod job;
mod kernel;
mod layout;
mod memory;
mod need;
mod own;
mod params;
mod plan;
mod print;
#[doc(hidden)]
pub mod ring;
mod section;
mod slot;
pub mod stencil;
#[doc(hidden)]
pub mod stream;
#[doc(hidden)]
pub mod sweep;
#[doc(hidden)]
pub mod texture;
mod textures;
pub mod wgsl;

pub use backend::Backend;
pub use dispatch::{Dispatch, PassSlots, Stage, Target, tiles};
pub use job::{Job, View, ViewMut};
pub use kernel::{Contract, Kernel, Scope};
pub use layout::Layout;
#[doc(hidden)]
pub use layout::{Order, Phases};
pub use memory::Memory;
pub use need::Need;
pub use params::WgslStruct;
pub use plan::{Pass, Plan};
#[doc(hidden)]
pub use section::Section;
pub use section::Until;
pub use slot::{Backing, Element, Role, Slot, SlotId};
