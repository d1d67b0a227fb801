//! Reading a code-block.

use super::WIDEST;
use super::bits::{Events, Reader};
use super::codes::DECODER;
use crate::exr::htj2k::Damage;
use crate::exr::htj2k::wavelet::Whole;

/// For three bits: `u`, the length of the prefix and that of the suffix.
const PREFIXES: [(u32, u32, u32); 8] = [
    (5, 3, 5),
    (1, 1, 0),
    (2, 2, 0),
    (1, 1, 0),
    (3, 3, 1),
    (1, 1, 0),
    (2, 2, 0),
    (1, 1, 0),
];

/// A decoder, with memory for the streams of a block.
#[derive(Debug)]
pub(in crate::exr::htj2k) struct Decoder {
    codes: Reader,
    magnitudes: Reader,
    /// Significance of the quads of a row, after one that does not exist.
    quads: Vec<u8>,
    /// Magnitudes of the lower samples of quads in the row above and in the current one, after one that does not exist.
    above: Vec<u64>,
    below: Vec<u64>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            codes: Reader::default(),
            magnitudes: Reader::default(),
            quads: vec![0; WIDEST / 2 + 4],
            above: vec![0; WIDEST + 8],
            below: vec![0; WIDEST + 8],
        }
    }
}

/// The streams of a block. They are taken out of the decoder while a block is read: their positions stay in registers.
struct Streams<'a> {
    codes: Reader,
    magnitudes: Reader,
    events: Events<'a>,
}

/// A code-block in its sub-band.
#[derive(Debug, Clone, Copy)]
pub(in crate::exr::htj2k) struct Place {
    pub(in crate::exr::htj2k) width: usize,
    /// Distance of rows in the sub-band.
    pub(in crate::exr::htj2k) stride: usize,
    /// Bit planes that a sample may have.
    pub(in crate::exr::htj2k) planes: u32,
    /// Bit planes that are left out below the coded ones.
    pub(in crate::exr::htj2k) shift: u32,
}

impl Decoder {
    /// Decodes a block into zeros: rows that begin at the block's first column.
    #[inline(always)]
    pub(in crate::exr::htj2k) fn decode<T: Whole>(
        &mut self,
        data: &[u8],
        rows: &mut [T],
        place: Place,
    ) -> Result<(), Damage> {
        let [.., low, high] = data else {
            return Err(Damage);
        };
        let tail = usize::from(*high) << 4 | usize::from(low & 15);
        if !(2..=data.len()).contains(&tail) || place.width > WIDEST {
            return Err(Damage);
        }
        let (front, back) = data.split_at(data.len() - tail);
        let mut streams = Streams {
            codes: std::mem::take(&mut self.codes),
            magnitudes: std::mem::take(&mut self.magnitudes),
            events: Events::new(back),
        };
        streams.magnitudes.magnitudes(front);
        streams.codes.codes(back);
        let quads = place.width.div_ceil(2);
        self.quads[..quads + 3].fill(0);
        self.above[..place.width + 6].fill(0);
        for (y, pair) in rows.chunks_mut(2 * place.stride).enumerate() {
            let (upper, lower) = pair.split_at_mut(place.stride.min(pair.len()));
            if y == 0 {
                self.row::<T, true>(&mut streams, upper, lower, place)?;
            } else {
                self.row::<T, false>(&mut streams, upper, lower, place)?;
            }
            std::mem::swap(&mut self.above, &mut self.below);
        }
        (self.codes, self.magnitudes) = (streams.codes, streams.magnitudes);
        Ok(())
    }

    /// A row of quads.
    #[inline(always)]
    fn row<T: Whole, const FIRST: bool>(
        &mut self,
        streams: &mut Streams<'_>,
        upper: &mut [T],
        lower: &mut [T],
        place: Place,
    ) -> Result<(), Damage> {
        let table = &DECODER[usize::from(!FIRST)];
        let quads = place.width.div_ceil(2);
        let significant = &mut self.quads[..quads + 3];
        let above = &self.above[..place.width + 6];
        let below = &mut self.below[..place.width + 6];
        let mut left = 0_u16;
        let mut before = 0_u8;
        let mut q = 0;
        while q < quads {
            let mut found = [0_u16; 2];
            for (i, found) in found.iter_mut().enumerate() {
                if q + i == quads {
                    break;
                }
                let context = if FIRST {
                    left >> 4 & 1 | left >> 5 & 7
                } else {
                    // Neighbours above, from the left to the right, and on the left.
                    let (n, ne) = (significant[q + i + 1], significant[q + i + 2]);
                    let above = u16::from(before >> 3 & 1 | n >> 1 & 1);
                    let right = u16::from(n >> 3 & 1 | ne >> 1 & 1);
                    before = n;
                    above | (left >> 6 & 1 | left >> 7 & 1) << 1 | right << 2
                };
                if context != 0 || streams.events.next() {
                    let bits = streams.codes.peek() & 0x7f;
                    *found = table[usize::from(context << 7) | bits as usize];
                    streams.codes.skip(u32::from(*found & 7));
                }
                left = *found;
                significant[q + i + 1] = (*found >> 4 & 15) as u8;
            }
            let u = streams.exponents::<FIRST>(found);
            for i in 0..2 {
                let x = 2 * (q + i);
                if x >= place.width {
                    break;
                }
                let near = if FIRST {
                    0
                } else {
                    above[x] | above[x + 1] | above[x + 2] | above[x + 3]
                };
                let (values, codes) = streams.quad::<FIRST>(found[i], u[i], near, place)?;
                // Behind the last column is nothing.
                below[x + 1..x + 4].copy_from_slice(&[codes[0], codes[1], 0]);
                if found[i] & 0xf0 == 0 {
                    continue;
                }
                let count = 2.min(place.width - x);
                for (v, value) in upper[x..x + count].iter_mut().zip([values[0], values[2]]) {
                    *v = T::from_i64(value);
                }
                if !lower.is_empty() {
                    for (v, value) in lower[x..x + count].iter_mut().zip([values[1], values[3]]) {
                        *v = T::from_i64(value);
                    }
                }
            }
            q += 2;
        }
        Ok(())
    }
}

impl Streams<'_> {
    /// The exponent bounds of two quads, beyond what their neighbours predict.
    #[inline(always)]
    fn exponents<const FIRST: bool>(&mut self, found: [u16; 2]) -> [u32; 2] {
        let [a, b] = found.map(|f| f & 8 != 0);
        if !(a || b) {
            return [0; 2];
        }
        let mut bits = self.codes.peek();
        let mut used = 0;
        let mut prefix = || {
            let code = PREFIXES[(bits & 7) as usize];
            bits >>= code.1;
            used += code.1;
            code
        };
        let none = (0, 0, 0);
        let both = FIRST && a && b;
        let large = both && self.events.next();
        let first = if a { prefix() } else { none };
        let second = if both && !large && first.0 > 2 {
            // One of the two is at most 2, so this one needs one bit.
            let code = (1 + (bits & 1) as u32, 1, 0);
            bits >>= 1;
            used += 1;
            code
        } else if b {
            prefix()
        } else {
            none
        };
        let mut take = |count: u32| {
            let value = (bits & ((1 << count) - 1)) as u32;
            bits >>= count;
            used += count;
            value
        };
        let mut u = [first.0 + take(first.2), second.0 + take(second.2)];
        for u in &mut u {
            if *u >= 33 {
                *u += 4 * take(4);
            }
        }
        self.codes.skip(used);
        u.map(|u| u + if large { 2 } else { 0 })
    }

    /// The samples of a quad, column by column, and the magnitudes of the lower ones; `near` are those of the row above.
    #[inline(always)]
    fn quad<const FIRST: bool>(
        &mut self,
        found: u16,
        u: u32,
        near: u64,
        place: Place,
    ) -> Result<([i64; 4], [u64; 2]), Damage> {
        let rho = found >> 4 & 15;
        let predicted = if FIRST || rho & (rho.wrapping_sub(1)) == 0 {
            1
        } else {
            63_u32.saturating_sub(near.leading_zeros()).max(1)
        };
        let bound = u + predicted;
        if bound > place.planes + 1 {
            return Err(Damage);
        }
        let mut values = [0_i64; 4];
        let mut codes = [0_u64; 4];
        if rho != 0 {
            let (known, ones) = (found >> 12, found >> 8);
            for n in 0..4 {
                // Without branches: a sample that is zero takes no bits.
                let there = u32::from(rho >> n & 1);
                let bits = (bound - u32::from(known >> n & 1)) * there;
                let read = self.magnitudes.peek() & ((1 << bits) - 1);
                self.magnitudes.skip(bits);
                let code = read | u64::from(ones >> n & 1) << bits;
                let mask = 0_u64.wrapping_sub(there.into());
                codes[n] = (code | 1) & mask;
                let size = ((code >> 1) + 1) as i64;
                let size = size << place.shift | i64::from(place.shift > 0) << place.shift >> 1;
                let sign = -((code & 1) as i64);
                values[n] = ((size ^ sign) - sign) & mask as i64;
            }
        }
        Ok((values, [codes[1], codes[3]]))
    }
}
