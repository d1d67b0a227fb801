//! Weights of networks: safetensors files, the bytes with even numbers first and the others after them.
//!
//! This crate is a part of [`limpid`](https://docs.rs/limpid), which reads them.

/// The networks for sequences: how much is taken of frames around, and the guides of the frame of more samples.
pub const FRAMES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/frames.apart"));

/// The same, larger.
pub const FRAMES_BEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/frames-best.apart"));
