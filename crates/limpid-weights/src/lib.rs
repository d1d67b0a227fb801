//! Weights of networks, as safetensors files.
//!
//! This crate is a part of [`limpid`](https://docs.rs/limpid), which reads them.

/// The networks for sequences: how much is taken of frames around, and the guides of the frame of more samples.
pub const FRAMES: &[u8] = include_bytes!("../weights/frames.safetensors");

/// The same, larger.
pub const FRAMES_BEST: &[u8] = include_bytes!("../weights/frames-best.safetensors");
