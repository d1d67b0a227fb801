//! Reading a code-block.

use super::bits::{Events, Reader};
use super::codes::DECODER;
use super::{BYTES, WIDEST};
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

/// The prefixes of two quads that follow each other: for two bits that say which of them have one, and the next six bits, the length of
/// both prefixes (3 bits), the lengths of the suffixes and what they are added to (3 bits each).
static PAIRS: [u16; 256] = pairs();

const fn pairs() -> [u16; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (mut bits, mut used, mut entry, mut quad) = (i & 63, 0, 0, 0);
        while quad < 2 {
            if i >> (6 + quad) & 1 == 1 {
                let (u, prefix, suffix) = PREFIXES[bits & 7];
                bits >>= prefix;
                used += prefix;
                entry |= suffix << (3 + 3 * quad) | u << (9 + 3 * quad);
            }
            quad += 1;
        }
        table[i] = (entry | used) as u16;
        i += 1;
    }
    table
}

/// What is read of a quad before its samples: its entry of [`DECODER`], and by how much the bound of its exponents exceeds what the
/// neighbours predict.
#[derive(Debug, Clone, Copy, Default)]
struct Quad {
    found: u16,
    u: u16,
}

/// A decoder, with memory for the streams of a block.
#[derive(Debug)]
pub(in crate::exr::htj2k) struct Decoder<T: Whole> {
    codes: Reader,
    magnitudes: Reader,
    /// The quads of a row, after one that does not exist.
    quads: Vec<Quad>,
    /// Codes of the samples of a row of quads.
    rows: [Vec<T::Code>; 2],
    /// Magnitudes of the samples above a row of quads, after one that does not exist.
    above: Vec<T::Code>,
}

impl<T: Whole> Default for Decoder<T> {
    fn default() -> Self {
        let row = vec![T::Code::default(); WIDEST + 8];
        Self {
            codes: Reader::default(),
            magnitudes: Reader::default(),
            quads: vec![Quad::default(); WIDEST / 2 + 4],
            rows: [row.clone(), row.clone()],
            above: row,
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

impl<T: Whole> Decoder<T> {
    /// Decodes a block into rows that begin at its first column.
    #[inline(always)]
    pub(in crate::exr::htj2k) fn decode(
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
        let width = place.width;
        let quads = &mut self.quads[..width.div_ceil(2) + 3];
        quads.fill(Quad::default());
        self.above[..width + 6].fill(T::Code::default());
        for (y, pair) in rows.chunks_mut(2 * place.stride).enumerate() {
            let codes = self.rows.each_mut().map(|row| &mut row[..width + 1]);
            let above = &self.above[..width + 4];
            if y == 0 {
                streams.significance::<true>(quads);
                streams.samples::<T, true>(quads, above, codes, place)?;
            } else {
                streams.significance::<false>(quads);
                streams.samples::<T, false>(quads, above, codes, place)?;
            }
            let (upper, lower) = pair.split_at_mut(place.stride.min(pair.len()));
            for (v, code) in upper[..width].iter_mut().zip(&self.rows[0]) {
                *v = T::decoded(*code, place.shift);
            }
            let end = width.min(lower.len());
            let lower = &mut lower[..end];
            for (v, code) in lower.iter_mut().zip(&self.rows[1]) {
                *v = T::decoded(*code, place.shift);
            }
            for (v, code) in self.above[1..=width].iter_mut().zip(&self.rows[1]) {
                *v = T::odd(*code);
            }
        }
        (self.codes, self.magnitudes) = (streams.codes, streams.magnitudes);
        Ok(())
    }
}

impl Streams<'_> {
    /// What is known of a row of quads before its samples; `quads` is that of the row above.
    #[inline(always)]
    fn significance<const FIRST: bool>(&mut self, quads: &mut [Quad]) {
        let table = &DECODER[usize::from(!FIRST)];
        let count = quads.len() - 3;
        let (mut left, mut before) = (0_u16, 0_u16);
        let mut q = 0;
        while q < count {
            // Two quads and their exponents take 52 bits at most.
            let mut bits = self.codes.peek();
            let mut used = 0;
            let mut found = [0_u16; 2];
            for (i, found) in found.iter_mut().enumerate() {
                if q + i == count {
                    break;
                }
                let context = if FIRST {
                    left >> 4 & 1 | left >> 5 & 7
                } else {
                    // Neighbours above, from the left to the right, and on the left.
                    let (n, ne) = (quads[q + i + 1].found, quads[q + i + 2].found);
                    let above = before >> 7 & 1 | n >> 5 & 1;
                    let right = n >> 7 & 1 | ne >> 5 & 1;
                    before = n;
                    above | (left >> 6 & 1 | left >> 7 & 1) << 1 | right << 2
                };
                if context != 0 || self.events.next() {
                    *found = table[usize::from(context << 7) | (bits & 0x7f) as usize];
                    let length = u32::from(*found & 7);
                    bits >>= length;
                    used += length;
                }
                left = *found;
                quads[q + i + 1].found = *found;
            }
            let (u, more) = self.exponents::<FIRST>(found, bits);
            self.codes.skip(used + more);
            (quads[q + 1].u, quads[q + 2].u) = (u[0] as u16, u[1] as u16);
            q += 2;
        }
    }

    /// The exponent bounds of two quads, beyond what their neighbours predict, and the number of bits that they took.
    #[inline(always)]
    fn exponents<const FIRST: bool>(&mut self, found: [u16; 2], mut bits: u64) -> ([u32; 2], u32) {
        let [a, b] = found.map(|f| f >> 3 & 1);
        let large = FIRST && a & b == 1 && self.events.next();
        let mut entry = u32::from(PAIRS[usize::from(a << 6 | b << 7) | (bits & 63) as usize]);
        if FIRST && a & b == 1 && !large && entry >> 9 & 7 > 2 {
            // One of the two is at most 2, so the second one needs one bit.
            let first = u32::from(PAIRS[1 << 6 | (bits & 63) as usize]);
            let second = 1 + (bits >> (first & 7) & 1) as u32;
            entry = (first + 1) | (second << 12);
        }
        let (prefixes, lengths) = (entry & 7, [entry >> 3 & 7, entry >> 6 & 7]);
        bits >>= prefixes;
        let mut used = prefixes + lengths[0] + lengths[1];
        let first = bits as u32 & ((1 << lengths[0]) - 1);
        bits >>= lengths[0];
        let second = bits as u32 & ((1 << lengths[1]) - 1);
        bits >>= lengths[1];
        let mut u = [(entry >> 9 & 7) + first, (entry >> 12 & 7) + second];
        for u in &mut u {
            if *u >= 33 {
                *u += 4 * (bits as u32 & 15);
                bits >>= 4;
                used += 4;
            }
        }
        (u.map(|u| u + if large { 2 } else { 0 }), used)
    }

    /// The codes of the samples of a row of quads, upper and lower ones; `above` are the magnitudes of the row above.
    #[inline(always)]
    fn samples<T: Whole, const FIRST: bool>(
        &mut self,
        quads: &[Quad],
        above: &[T::Code],
        [upper, lower]: [&mut [T::Code]; 2],
        place: Place,
    ) -> Result<(), Damage> {
        let quads = &quads[1..quads.len() - 2];
        let columns = upper.chunks_exact_mut(2).zip(lower.chunks_exact_mut(2));
        for ((quad, above), (upper, lower)) in
            quads.iter().zip(above.windows(4).step_by(2)).zip(columns)
        {
            let rho = u32::from(quad.found >> 4 & 15);
            let predicted = if FIRST || rho & rho.wrapping_sub(1) == 0 {
                1
            } else {
                T::largest([above[0], above[1], above[2], above[3]]).max(1)
            };
            let bound = u32::from(quad.u) + predicted;
            if bound > place.planes + 1 {
                return Err(Damage);
            }
            let codes = self.quad(quad.found, bound);
            [upper[0], lower[0], upper[1], lower[1]] = codes.map(T::code);
        }
        Ok(())
    }

    /// The codes of a quad, column by column: zero, or twice the magnitude with the sign in the lowest bit.
    #[inline(always)]
    fn quad(&mut self, found: u16, bound: u32) -> [u64; 4] {
        let found = usize::from(found);
        let (rho, ones, known) = (found >> 4 & 15, found >> 8 & 15, found >> 12 & 15);
        if rho == 0 {
            return [0; 4];
        }
        // Four numbers of bits in the bytes of a word, and where they end. A sample that is zero takes none.
        let bits = bound * BYTES[rho] - BYTES[rho & known];
        let ends = bits.wrapping_mul(0x0101_0101);
        let all = ends >> 24;
        let mut words = [self.magnitudes.peek(); 4];
        let begins = lanes(ends << 8);
        if all <= 57 {
            for n in 0..4 {
                words[n] >>= begins[n] & 63;
            }
        } else {
            for n in 1..4 {
                words[n] = self.magnitudes.behind(begins[n] as u32);
            }
        }
        self.magnitudes.skip(all);
        let (bits, ones, there) = (lanes(bits), lanes(BYTES[ones]), lanes(BYTES[rho]));
        let mut codes = [0; 4];
        for n in 0..4 {
            let bits = bits[n] & 63;
            let read = words[n] & ((1 << bits) - 1) | ones[n] << bits;
            codes[n] = (read + 2) & 0_u64.wrapping_sub(there[n]);
        }
        codes
    }
}

/// The bytes of a word.
#[inline(always)]
fn lanes(word: u32) -> [u64; 4] {
    word.to_le_bytes().map(u64::from)
}
