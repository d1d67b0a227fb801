//! The block coder of High-Throughput JPEG 2000 (ITU-T T.814): one cleanup pass, which holds a code-block without loss.

mod bits;
mod codes;
mod decode;
mod encode;

pub(super) use decode::{Decoder, Place};
pub(super) use encode::Encoder;

/// The widest code-block.
const WIDEST: usize = 1024;

/// Four bits as bytes of a word.
static BYTES: [u32; 16] = {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        table[i] = (i & 1 | (i & 2) << 7 | (i & 4) << 14 | (i & 8) << 21) as u32;
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests;
