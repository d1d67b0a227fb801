//! The block coder of High-Throughput JPEG 2000 (ITU-T T.814): one cleanup pass, which holds a code-block without loss.

mod bits;
mod codes;
mod decode;
mod encode;

pub(super) use decode::{Decoder, Place};
pub(super) use encode::Encoder;

/// The widest code-block.
const WIDEST: usize = 1024;

#[cfg(test)]
mod tests;
