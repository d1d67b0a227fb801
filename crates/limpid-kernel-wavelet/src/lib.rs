//! Kernels of wavelet transforms: in two dimensions, in one along lines, of whole numbers, and shrinkage.
//!
//! This crate is a part of [`limpid`](https://docs.rs/limpid). Each module is one operation or a few that belong together: a
//! contract and two bodies, see [`limpid_plan::Kernel`].

#[doc(hidden)]
pub mod arrays;
#[doc(hidden)]
pub mod bank;
pub mod dwt;
pub mod lines;
mod own;
pub mod reversible;
pub mod shrink;
