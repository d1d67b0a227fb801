//! The block coder of High-Throughput JPEG 2000 (ITU-T T.814): one cleanup pass, which holds a code-block without loss.

mod bits;
mod codes;
mod decode;
mod encode;

use super::wavelet::Whole;
pub(super) use decode::{Decoder, Place};
pub(super) use encode::Encoder;

/// The widest code-block.
const WIDEST: usize = 1024;

/// Reads a sample of each cache line of a block. Its rows are far apart in their sub-band, so processors do not fetch them by themselves; here
/// many are fetched at a time.
#[inline(always)]
fn fetch<T: Whole>(rows: &[T], (width, stride): (usize, usize)) {
    let mut seen = T::default();
    for row in rows.chunks(stride) {
        let row = &row[..width.min(row.len())];
        for sample in row.iter().step_by(64 / size_of::<T>()) {
            seen = seen.update(*sample, *sample);
        }
    }
    std::hint::black_box(seen);
}

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
