//! Kernels of window filters, and filters for photographs and films.
//!
//! This crate is a part of [`limpid`](https://docs.rs/limpid). Each module is one operation or a few that belong together: a
//! contract and two bodies, see [`limpid_plan::Kernel`].

pub mod around;
mod block;
mod cosines;
pub mod ddid;
pub mod film;
mod own;
pub mod stabilise;
pub mod wiener;
pub mod window;
