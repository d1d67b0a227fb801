//! Kernels of filters for renders, guided by their features.
//!
//! This crate is a part of [`limpid`](https://docs.rs/limpid). Each module is one operation or a few that belong together: a
//! contract and two bodies, see [`limpid_plan::Kernel`].

pub mod atrous;
pub mod details;
pub mod front;
pub mod guard;
pub mod neural;
pub mod nfor;
pub mod nlm;
mod own;
pub mod pack;
pub mod patch;
pub mod poisson;
pub mod prefilter;
pub mod rdfc;
pub mod svgf;
pub mod taa;
pub mod upward;
