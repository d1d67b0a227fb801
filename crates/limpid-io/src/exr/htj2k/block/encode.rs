//! Writing a code-block.

use super::bits::{EventWriter, Writer};
use super::codes::ENCODER;
use super::{BYTES, WIDEST, fetch};
use crate::exr::htj2k::wavelet::Whole;

/// An encoder, with memory for the streams of a block.
#[derive(Debug)]
pub(in crate::exr::htj2k) struct Encoder<T: Whole> {
    events: EventWriter,
    codes: Writer,
    magnitudes: Writer,
    /// Significance of the quads of a row, after one that does not exist.
    quads: Vec<u8>,
    /// Codes of the samples of a row of quads, and their exponents.
    rows: [Vec<T::Code>; 2],
    exponents: [Vec<u8>; 2],
    /// Exponents of the samples above a row of quads, after one that does not exist.
    above: Vec<u8>,
}

impl<T: Whole> Default for Encoder<T> {
    fn default() -> Self {
        let row = vec![T::Code::default(); WIDEST + 8];
        Self {
            events: EventWriter::default(),
            codes: Writer::default(),
            magnitudes: Writer::default(),
            quads: vec![0; WIDEST / 2 + 4],
            rows: [row.clone(), row],
            exponents: [vec![0; WIDEST + 8], vec![0; WIDEST + 8]],
            above: vec![0; WIDEST + 8],
        }
    }
}

/// A quad as it is written, column by column.
#[derive(Debug, Clone, Copy)]
struct Quad {
    codes: [u64; 4],
    exponents: [u8; 4],
}

impl<T: Whole> Encoder<T> {
    /// Encodes a block whose rows begin at its first column; `false` and nothing, if all samples are zero.
    #[inline(always)]
    pub(in crate::exr::htj2k) fn encode(
        &mut self,
        rows: &[T],
        (width, stride): (usize, usize),
        out: &mut Vec<u8>,
    ) -> bool {
        self.events.clear();
        self.codes.clear();
        self.magnitudes.clear();
        self.quads[..width.div_ceil(2) + 3].fill(0);
        self.above[..width + 6].fill(0);
        fetch(rows, (width, stride));
        let mut filled = false;
        for (y, pair) in rows.chunks(2 * stride).enumerate() {
            let (upper, lower) = pair.split_at(stride.min(pair.len()));
            for (k, samples) in [upper, lower].into_iter().enumerate() {
                let (codes, exponents) = (&mut self.rows[k], &mut self.exponents[k]);
                let samples = &samples[..width.min(samples.len())];
                // Behind the last sample are zeros.
                codes[samples.len()..width + 1].fill(T::Code::default());
                exponents[samples.len()..width + 1].fill(0);
                let mut all = 0;
                for ((v, code), exponent) in samples.iter().zip(codes).zip(exponents) {
                    (*code, *exponent) = v.encoded();
                    all |= *exponent;
                }
                filled |= all > 0;
            }
            if y == 0 {
                self.row::<true>(width);
            } else {
                self.row::<false>(width);
            }
            self.above[1..=width].copy_from_slice(&self.exponents[1][..width]);
        }
        if filled {
            self.magnitudes.magnitudes(out);
            self.events.join(&mut self.codes, out);
        }
        filled
    }

    /// A row of quads.
    #[inline(always)]
    fn row<const FIRST: bool>(&mut self, width: usize) {
        let quads = width.div_ceil(2);
        let mut left = 0_u16;
        let mut before = 0_u8;
        let mut q = 0;
        while q < quads {
            let mut u = [0_u32; 2];
            for (q, u) in (q..quads).zip(&mut u) {
                let x = 2 * q;
                let ([a, b], [d, e]) = (&self.rows, &self.exponents);
                let quad = Quad {
                    codes: [a[x], b[x], a[x + 1], b[x + 1]].map(Into::into),
                    exponents: [d[x], e[x], d[x + 1], e[x + 1]],
                };
                let there = |n: usize| u16::from(quad.exponents[n] > 0) << n;
                let rho = there(0) | there(1) | there(2) | there(3);
                let context = if FIRST {
                    left & 1 | left >> 1
                } else {
                    let (n, ne) = (self.quads[q + 1], self.quads[q + 2]);
                    let above = u16::from(before >> 3 & 1 | n >> 1 & 1);
                    let right = u16::from(n >> 3 & 1 | ne >> 1 & 1);
                    before = n;
                    above | (left >> 2 & 1 | left >> 3 & 1) << 1 | right << 2
                };
                *u = self.quad::<FIRST>(&quad, rho, x, context);
                left = rho;
                self.quads[q + 1] = rho as u8;
            }
            self.excesses::<FIRST>(u);
            q += 2;
        }
    }

    /// Writes significance and samples; returns how far the exponent bound exceeds what the neighbours predict.
    #[inline(always)]
    fn quad<const FIRST: bool>(&mut self, quad: &Quad, rho: u16, x: usize, context: u16) -> u32 {
        let [a, b, c, d] = quad.exponents;
        let predicted = if FIRST || rho & (rho.wrapping_sub(1)) == 0 {
            1
        } else {
            let near = &self.above[x..x + 4];
            let near = near[0].max(near[1]).max(near[2].max(near[3]));
            near.saturating_sub(1).max(1)
        };
        let bound = a.max(b).max(c.max(d)).max(predicted);
        if context == 0 {
            self.events.put(rho != 0);
            if rho == 0 {
                return 0;
            }
        }
        let u = bound - predicted;
        let largest = |n: usize| u16::from(quad.exponents[n] == bound) << n;
        let pattern = largest(0) | largest(1) | largest(2) | largest(3);
        let pattern = if u > 0 { pattern } else { 0 };
        let code = ENCODER[usize::from(!FIRST)][usize::from(context << 8 | rho << 4 | pattern)];
        self.codes
            .put(u64::from(code >> 3 & 127), u32::from(code & 7));
        // Four numbers of bits in the bytes of a word, and where they end. A sample that is zero takes none.
        let (rho, known) = (usize::from(rho), usize::from(code >> 10));
        let bits = u32::from(bound) * BYTES[rho] - BYTES[rho & known];
        let ends = bits.wrapping_mul(0x0101_0101);
        let number = |n: usize| quad.codes[n] & ((1 << (bits >> (8 * n) & 63)) - 1);
        if ends >> 24 <= 56 {
            let at = |n: usize| number(n) << (ends >> (8 * n - 8) & 63);
            let all = number(0) | at(1) | at(2) | at(3);
            self.magnitudes.put(all, ends >> 24);
        } else {
            for n in 0..4 {
                self.magnitudes.put(number(n), bits >> (8 * n) & 63);
            }
        }
        u.into()
    }

    /// The excesses of two quads.
    #[inline(always)]
    fn excesses<const FIRST: bool>(&mut self, u: [u32; 2]) {
        let [mut a, mut b] = u;
        if a | b == 0 {
            return;
        }
        let mut second = None;
        if FIRST && a > 0 && b > 0 {
            let large = a > 2 && b > 2;
            self.events.put(large);
            if large {
                (a, b) = (a - 2, b - 2);
            } else if a > 2 {
                second = Some([(b - 1, 1), (0, 0), (0, 0)]);
            }
        }
        let second = second.unwrap_or_else(|| prefixed(b));
        let (mut all, mut used) = (0, 0);
        for (first, second) in prefixed(a).into_iter().zip(second) {
            all |= u64::from(first.0) << used | u64::from(second.0) << (used + first.1);
            used += first.1 + second.1;
        }
        self.codes.put(all, used);
    }
}

/// Prefix, suffix and extension of an excess: bits and their number.
#[inline(always)]
fn prefixed(u: u32) -> [(u32, u32); 3] {
    PREFIXED[(u & 127) as usize]
}

static PREFIXED: [[(u32, u32); 3]; 128] = {
    let mut table = [[(0, 0); 3]; 128];
    let mut u = 1;
    while u < 128 {
        let at = u as usize;
        match u {
            1 | 2 => table[at][0] = (u, u),
            3 | 4 => (table[at][0], table[at][1]) = ((4, 3), (u - 3, 1)),
            5..=32 => (table[at][0], table[at][1]) = ((0, 3), (u - 5, 5)),
            _ => table[at] = [(0, 3), (28 + ((u - 33) & 3), 5), ((u - 33) >> 2, 4)],
        }
        u += 1;
    }
    table
};
