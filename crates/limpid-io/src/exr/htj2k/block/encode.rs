//! Writing a code-block.

use super::WIDEST;
use super::bits::{EventWriter, Writer};
use super::codes::ENCODER;
use crate::exr::htj2k::wavelet::Whole;

/// An encoder, with memory for the streams of a block.
#[derive(Debug)]
pub(in crate::exr::htj2k) struct Encoder {
    events: EventWriter,
    codes: Writer,
    magnitudes: Writer,
    /// Significance of the quads of a row, after one that does not exist.
    quads: Vec<u8>,
    /// Exponents of the lower samples of quads in the row above and in the current one, after one that does not exist.
    above: Vec<u32>,
    below: Vec<u32>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            events: EventWriter::default(),
            codes: Writer::default(),
            magnitudes: Writer::default(),
            quads: vec![0; WIDEST / 2 + 4],
            above: vec![0; WIDEST + 8],
            below: vec![0; WIDEST + 8],
        }
    }
}

/// A quad as it is written.
#[derive(Debug, Clone, Copy, Default)]
struct Quad {
    /// Which samples are not zero.
    rho: u16,
    /// Twice the magnitude less one, and the sign.
    codes: [u64; 4],
    /// Bits of those numbers.
    exponents: [u32; 4],
}

impl Quad {
    #[inline(always)]
    fn new<T: Whole>(upper: &[T], lower: &[T], x: usize) -> Self {
        // The rows end with the block.
        let column = |row: &[T]| match row.get(x..) {
            Some([a, b, ..]) => [a.to_i64(), b.to_i64()],
            Some([a]) => [a.to_i64(), 0],
            _ => [0; 2],
        };
        let ([a, c], [b, d]) = (column(upper), column(lower));
        let mut quad = Self::default();
        for (n, value) in [a, b, c, d].into_iter().enumerate() {
            let twice = 2 * value.unsigned_abs();
            quad.rho |= u16::from(value != 0) << n;
            quad.codes[n] = twice.saturating_sub(2) + u64::from(value < 0);
            quad.exponents[n] = 64 - twice.saturating_sub(1).leading_zeros();
        }
        quad
    }
}

impl Encoder {
    /// Encodes a block whose rows begin at its first column; `false` and nothing, if all samples are zero.
    #[inline(always)]
    pub(in crate::exr::htj2k) fn encode<T: Whole>(
        &mut self,
        rows: &[T],
        (width, stride): (usize, usize),
        out: &mut Vec<u8>,
    ) -> bool {
        let zero = |row: &[T]| row.iter().take(width).all(|v| v.to_i64() == 0);
        if rows.chunks(stride).all(zero) {
            return false;
        }
        self.events.clear();
        self.codes.clear();
        self.magnitudes.clear();
        self.quads[..width.div_ceil(2) + 3].fill(0);
        self.above[..width + 6].fill(0);
        for (y, pair) in rows.chunks(2 * stride).enumerate() {
            let (upper, lower) = pair.split_at(stride.min(pair.len()));
            let upper = &upper[..width];
            let lower = &lower[..width.min(lower.len())];
            if y == 0 {
                self.row::<T, true>(upper, lower);
            } else {
                self.row::<T, false>(upper, lower);
            }
            std::mem::swap(&mut self.above, &mut self.below);
        }
        self.magnitudes.magnitudes(out);
        self.events.join(&mut self.codes, out);
        true
    }

    /// A row of quads.
    #[inline(always)]
    fn row<T: Whole, const FIRST: bool>(&mut self, upper: &[T], lower: &[T]) {
        let quads = upper.len().div_ceil(2);
        let mut left = 0_u16;
        let mut before = 0_u8;
        let mut q = 0;
        while q < quads {
            let mut u = [0_u32; 2];
            for (q, u) in (q..quads).zip(&mut u) {
                let quad = Quad::new(upper, lower, 2 * q);
                let context = if FIRST {
                    left & 1 | left >> 1
                } else {
                    let (n, ne) = (self.quads[q + 1], self.quads[q + 2]);
                    let above = u16::from(before >> 3 & 1 | n >> 1 & 1);
                    let right = u16::from(n >> 3 & 1 | ne >> 1 & 1);
                    before = n;
                    above | (left >> 2 & 1 | left >> 3 & 1) << 1 | right << 2
                };
                *u = self.quad::<FIRST>(&quad, 2 * q, context);
                left = quad.rho;
                self.quads[q + 1] = quad.rho as u8;
            }
            self.exponents::<FIRST>(u);
            q += 2;
        }
    }

    /// Writes significance and samples; returns how far the exponent bound exceeds what the neighbours predict.
    #[inline(always)]
    fn quad<const FIRST: bool>(&mut self, quad: &Quad, x: usize, context: u16) -> u32 {
        let Quad {
            rho,
            codes,
            exponents,
        } = quad;
        let predicted = if FIRST || rho & (rho.wrapping_sub(1)) == 0 {
            1
        } else {
            let near = self.above[x..x + 4].iter().copied().max().unwrap_or(0);
            near.saturating_sub(1).max(1)
        };
        self.below[x + 1] = exponents[1];
        self.below[x + 2] = exponents[3];
        self.below[x + 3] = 0;
        let bound = exponents.iter().copied().max().unwrap_or(0).max(predicted);
        if context == 0 {
            self.events.put(*rho != 0);
            if *rho == 0 {
                return 0;
            }
        }
        let u = bound - predicted;
        let mut pattern = 0;
        if u > 0 {
            for (n, e) in exponents.iter().enumerate() {
                pattern |= u16::from(*e == bound) << n;
            }
        }
        let code = ENCODER[usize::from(!FIRST)][usize::from(context << 8 | rho << 4 | pattern)];
        self.codes
            .put(u64::from(code >> 3 & 127), u32::from(code & 7));
        for n in 0..4 {
            // A sample that is zero takes no bits.
            let bits = (bound - u32::from(code >> (10 + n) & 1)) * u32::from(rho >> n & 1);
            self.magnitudes.put(codes[n] & ((1 << bits) - 1), bits);
        }
        u
    }

    /// The excesses of two quads.
    #[inline(always)]
    fn exponents<const FIRST: bool>(&mut self, u: [u32; 2]) {
        let [mut a, mut b] = u;
        if a | b == 0 {
            return;
        }
        let mut second = prefixed(b);
        if FIRST && a > 0 && b > 0 {
            let large = a > 2 && b > 2;
            self.events.put(large);
            if large {
                (a, b) = (a - 2, b - 2);
                second = prefixed(b);
            } else if a > 2 {
                second = [(b - 1, 1), (0, 0), (0, 0)];
            }
        }
        for (first, second) in prefixed(a).into_iter().zip(second) {
            self.codes.put(u64::from(first.0), first.1);
            self.codes.put(u64::from(second.0), second.1);
        }
    }
}

/// Prefix, suffix and extension of an excess: bits and their number.
fn prefixed(u: u32) -> [(u32, u32); 3] {
    let none = (0, 0);
    match u {
        0 => [none; 3],
        1 => [(1, 1), none, none],
        2 => [(2, 2), none, none],
        3 | 4 => [(4, 3), (u - 3, 1), none],
        5..=32 => [(0, 3), (u - 5, 5), none],
        _ => [(0, 3), (28 + ((u - 33) & 3), 5), ((u - 33) >> 2, 4)],
    }
}
