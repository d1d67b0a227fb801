//! The reversible 5/3 transform (ITU-T T.800, annex F) between a plane and its sub-bands.
//!
//! Vertically first when splitting, horizontally first when joining, both in one pass over a plane; the borders are mirrored. Damaged
//! data wraps around.

use std::sync::{Mutex, PoisonError};

/// A whole number of a plane: 32 bits where samples have 16, otherwise 64.
pub(super) trait Whole: Copy + Default + Send + Sync + bytemuck::Zeroable + 'static {
    /// Memory of such numbers.
    fn spare(pool: &Pool) -> &Spare<Self>;
    /// Bit planes that fit, with room for their sums.
    const PLANES: u32;
    /// Magnitude and sign, as the block coder has them.
    type Code: Copy + Default + Into<u64>;
    /// A code from the bits of a stream.
    fn code(bits: u64) -> Self::Code;
    /// The number of a code, which is zero or twice the magnitude with the sign in its lowest bit; below the magnitude, `shift` bit
    /// planes are left out.
    fn decoded(code: Self::Code, shift: u32) -> Self;
    /// Twice the magnitude of such a code less one, or zero.
    fn odd(code: Self::Code) -> Self::Code;
    /// The number of bits of the largest of such magnitudes, less one.
    fn largest(odd: [Self::Code; 4]) -> u32;
    /// The code that is written, twice the magnitude less two with the sign in its lowest bit, and the bits of twice the magnitude less
    /// one; zero has no bits.
    fn encoded(self) -> (Self::Code, u8);
    /// `self - floor((a + b) / 2)`, and the inverse.
    fn predict(self, a: Self, b: Self) -> Self;
    fn unpredict(self, a: Self, b: Self) -> Self;
    /// `self + floor((a + b + 2) / 4)`, and the inverse.
    fn update(self, a: Self, b: Self) -> Self;
    fn undo_update(self, a: Self, b: Self) -> Self;
    /// The reversible colour transform, and the inverse.
    fn decorrelate(rgb: [Self; 3]) -> [Self; 3];
    fn recorrelate(ycc: [Self; 3]) -> [Self; 3];
}

macro_rules! whole {
    ($t:ty, $code:ty, $planes:literal, $spare:ident, $bits:expr) => {
        impl Whole for $t {
            fn spare(pool: &Pool) -> &Spare<Self> {
                &pool.$spare
            }
            const PLANES: u32 = $planes;
            type Code = $code;
            #[inline(always)]
            fn code(bits: u64) -> $code {
                bits as $code
            }
            #[inline(always)]
            fn decoded(code: $code, shift: u32) -> Self {
                let size = (code >> 1 << shift | 1 << shift >> 1) as $t;
                let sign = -((code & 1) as $t);
                let number = (size ^ sign).wrapping_sub(sign);
                if code == 0 { 0 } else { number }
            }
            #[inline(always)]
            fn odd(code: $code) -> $code {
                (code & !1).saturating_sub(1)
            }
            #[inline(always)]
            fn largest([a, b, c, d]: [$code; 4]) -> u32 {
                <$code>::BITS - 1 - (a | b | c | d | 1).leading_zeros()
            }
            #[inline(always)]
            fn encoded(self) -> ($code, u8) {
                let odd = (2 * self.unsigned_abs()).saturating_sub(1);
                let code = odd.saturating_sub(1) + <$code>::from(self < 0);
                (code, $bits(odd))
            }
            #[inline(always)]
            fn predict(self, a: Self, b: Self) -> Self {
                self.wrapping_sub(a.wrapping_add(b) >> 1)
            }
            #[inline(always)]
            fn unpredict(self, a: Self, b: Self) -> Self {
                self.wrapping_add(a.wrapping_add(b) >> 1)
            }
            #[inline(always)]
            fn update(self, a: Self, b: Self) -> Self {
                self.wrapping_add(a.wrapping_add(b).wrapping_add(2) >> 2)
            }
            #[inline(always)]
            fn undo_update(self, a: Self, b: Self) -> Self {
                self.wrapping_sub(a.wrapping_add(b).wrapping_add(2) >> 2)
            }
            #[inline(always)]
            fn decorrelate([r, g, b]: [Self; 3]) -> [Self; 3] {
                let sum = r.wrapping_add(b).wrapping_add(g.wrapping_mul(2));
                [sum >> 2, b.wrapping_sub(g), r.wrapping_sub(g)]
            }
            #[inline(always)]
            fn recorrelate([y, u, v]: [Self; 3]) -> [Self; 3] {
                let g = y.wrapping_sub(u.wrapping_add(v) >> 2);
                [v.wrapping_add(g), g, u.wrapping_add(g)]
            }
        }
    };
}

whole!(i32, u32, 27, small, bits);
whole!(i64, u64, 48, large, |odd: u64| (64 - odd.leading_zeros())
    as u8);

/// The bits of a number below 2³¹: the exponent of a float. Processors without AVX-512 count leading zeros one by one. Without the bit below
/// the highest one, nothing is rounded up to the next power of two.
#[inline(always)]
fn bits(number: u32) -> u8 {
    let float = (number & !(number >> 1)) as i32 as f32;
    (float.to_bits() >> 23).saturating_sub(126) as u8
}

/// Samples with their width. There may be memory behind the last one.
#[derive(Debug, Clone, Default)]
pub(super) struct Plane<T> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) data: Vec<T>,
}

impl<T: Whole> Plane<T> {
    /// A plane whose samples are not written yet.
    pub(super) fn new(width: usize, height: usize, spare: &Spare<T>) -> Self {
        Self {
            width,
            height,
            data: spare.take(width * height),
        }
    }

    #[inline(always)]
    pub(super) fn row(&mut self, y: usize) -> &mut [T] {
        &mut self.data[y * self.width..][..self.width]
    }
}

/// Pieces of memory that are kept at most: more than threads have in work.
const MOST: usize = 256;

/// Memory that is used again, so that it is neither cleared nor asked of the system for each block.
#[derive(Debug)]
pub(super) struct Spare<T>(Mutex<Vec<Vec<T>>>);

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: bytemuck::Zeroable> Spare<T> {
    /// Memory for this many samples or more, with anything in it.
    pub(super) fn take(&self, count: usize) -> Vec<T> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().position(|memory| memory.len() >= count);
        let found = found.map(|at| all.swap_remove(at));
        drop(all);
        found.unwrap_or_else(|| limpid_core::memory::zeros(count))
    }

    pub(super) fn give(&self, memory: Vec<T>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MOST {
            all.push(memory);
        }
    }
}

/// Memory for samples of 16 and of 32 bits.
#[derive(Debug, Default)]
pub(in crate::exr) struct Pool {
    small: Spare<i32>,
    large: Spare<i64>,
    bytes: Spare<u8>,
}

impl Pool {
    /// As many bytes, with anything in them.
    pub(super) fn bytes(&self, count: usize) -> Vec<u8> {
        let mut bytes = self.bytes.take(count);
        bytes.truncate(count);
        bytes
    }

    /// Takes bytes that are not needed any more.
    pub(in crate::exr) fn give(&self, bytes: Vec<u8>) {
        self.bytes.give(bytes);
    }
}

/// Cuts memory into the sub-bands of a component, from the coarsest.
pub(super) fn cut<'a, T>(mut memory: &'a mut [T], sizes: &[(usize, usize)]) -> Vec<&'a mut [T]> {
    let mut bands = Vec::with_capacity(sizes.len());
    for (width, height) in sizes {
        let (band, rest) = memory.split_at_mut(width * height);
        bands.push(band);
        memory = rest;
    }
    bands
}

/// Three rows, of which the middle one is changed; they are apart.
#[inline(always)]
fn lift<T: Whole>(
    data: &mut [T],
    width: usize,
    [above, y, below]: [usize; 3],
    step: impl Fn(T, T, T) -> T,
) {
    let (before, rest) = data.split_at_mut(y * width);
    let (row, after) = rest.split_at_mut(width);
    let other = |at: usize| match at < y {
        true => &before[at * width..][..width],
        false => &after[(at - y - 1) * width..][..width],
    };
    for ((v, a), b) in row.iter_mut().zip(other(above)).zip(other(below)) {
        *v = step(*v, *a, *b);
    }
}

/// The rows beside a row.
fn beside(y: usize, height: usize) -> [usize; 3] {
    let above = if y > 0 { y - 1 } else { 1 };
    [above, y, if y + 1 < height { y + 1 } else { y - 1 }]
}

/// Splits a plane into `[LL, HL, LH, HH]`, and changes it.
#[inline(always)]
pub(super) fn split<T: Whole>(
    plane: &mut [T],
    (width, height): (usize, usize),
    [ll, hl, lh, hh]: [&mut [T]; 4],
) {
    let (low, high) = (width.div_ceil(2), width / 2);
    for y in (0..height).step_by(2) {
        // An odd row needs the even ones beside it, and an even row the odd ones.
        if y + 1 < height {
            lift(plane, width, beside(y + 1, height), T::predict);
        }
        if height > 1 {
            lift(plane, width, beside(y, height), T::update);
        }
        let at = y / 2;
        let (l, h) = (&mut ll[at * low..][..low], &mut hl[at * high..][..high]);
        split_row(&plane[y * width..][..width], l, h);
        if y + 1 < height {
            let (l, h) = (&mut lh[at * low..][..low], &mut hh[at * high..][..high]);
            split_row(&plane[(y + 1) * width..][..width], l, h);
        }
    }
}

#[inline(always)]
fn split_row<T: Whole>(row: &[T], low: &mut [T], high: &mut [T]) {
    let (pairs, rest) = row.as_chunks::<2>();
    for (([even, odd], l), h) in pairs.iter().zip(&mut *low).zip(&mut *high) {
        (*l, *h) = (*even, *odd);
    }
    if let [single] = rest {
        low[pairs.len()] = *single;
    }
    if !high.is_empty() {
        change_odd(high, low, T::predict);
        change_even(low, high, T::update);
    }
}

/// Changes odd samples by the even ones beside them.
#[inline(always)]
fn change_odd<T: Whole>(high: &mut [T], low: &[T], step: impl Fn(T, T, T) -> T) {
    for ((h, a), b) in high.iter_mut().zip(low).zip(&low[1..]) {
        *h = step(*h, *a, *b);
    }
    if low.len() == high.len() {
        let last = low.len() - 1;
        high[last] = step(high[last], low[last], low[last]);
    }
}

/// Changes even samples by the odd ones beside them.
#[inline(always)]
fn change_even<T: Whole>(low: &mut [T], high: &[T], step: impl Fn(T, T, T) -> T) {
    low[0] = step(low[0], high[0], high[0]);
    for ((l, a), b) in low[1..].iter_mut().zip(high).zip(&high[1..]) {
        *l = step(*l, *a, *b);
    }
    if low.len() > high.len() {
        let last = high[high.len() - 1];
        low[high.len()] = step(low[high.len()], last, last);
    }
}

/// Joins `[LL, HL, LH, HH]` to a plane, and changes them.
#[inline(always)]
pub(super) fn join<T: Whole>(
    [ll, hl, lh, hh]: [&mut [T]; 4],
    (width, height): (usize, usize),
    plane: &mut [T],
) {
    let (low, high) = (width.div_ceil(2), width / 2);
    for y in (0..height + 2).step_by(2) {
        let at = y / 2;
        if y < height {
            let (l, h) = (&mut ll[at * low..][..low], &mut hl[at * high..][..high]);
            join_row(l, h, &mut plane[y * width..][..width]);
        }
        if y + 1 < height {
            let (l, h) = (&mut lh[at * low..][..low], &mut hh[at * high..][..high]);
            join_row(l, h, &mut plane[(y + 1) * width..][..width]);
        }
        if height > 1 && y < height {
            lift(plane, width, beside(y, height), T::undo_update);
        }
        // The even rows on both sides of the odd row above are complete now.
        if y > 0 && y - 1 < height {
            lift(plane, width, beside(y - 1, height), T::unpredict);
        }
    }
}

#[inline(always)]
fn join_row<T: Whole>(low: &mut [T], high: &mut [T], row: &mut [T]) {
    if !high.is_empty() {
        change_even(low, high, T::undo_update);
        change_odd(high, low, T::unpredict);
    }
    let (pairs, rest) = row.as_chunks_mut::<2>();
    if let [single] = rest {
        *single = low[pairs.len()];
    }
    for ((pair, l), h) in pairs.iter_mut().zip(low).zip(high) {
        *pair = [*l, *h];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One dimension as annex F writes it, on an extended signal.
    fn definition(x: &[i64]) -> Vec<i64> {
        let n = x.len() as i64;
        if n == 1 {
            return x.to_vec();
        }
        let mirrored = |i: i64| {
            let i = i.rem_euclid(2 * (n - 1));
            x[if i < n { i } else { 2 * (n - 1) - i } as usize]
        };
        let odd = |i: i64| mirrored(i) - (mirrored(i - 1) + mirrored(i + 1)).div_euclid(2);
        (0..n)
            .map(|i| match i % 2 {
                1 => odd(i),
                _ => mirrored(i) + (odd(i - 1) + odd(i + 1) + 2).div_euclid(4),
            })
            .collect()
    }

    proptest! {
        #[test]
        fn planes_follow_the_definition_and_come_back(
            width in 1_usize..20,
            height in 1_usize..20,
            values in prop::collection::vec(-(1_i64 << 33)..(1 << 33), 400),
        ) {
            let data = values[..width * height].to_vec();
            let mut expected = data.clone();
            for x in 0..width {
                let column: Vec<i64> = (0..height).map(|y| expected[y * width + x]).collect();
                for (y, v) in definition(&column).into_iter().enumerate() {
                    expected[y * width + x] = v;
                }
            }
            for row in expected.chunks_mut(width) {
                row.copy_from_slice(&definition(row));
            }
            let (low, top) = (width.div_ceil(2), height.div_ceil(2));
            let (high, bottom) = (width - low, height - top);
            let sizes = [(low, top), (high, top), (low, bottom), (high, bottom)];
            let (mut plane, mut memory) = (data.clone(), vec![0; data.len()]);
            split(&mut plane, (width, height), cut(&mut memory, &sizes).try_into().unwrap());
            let bands: [&mut [i64]; 4] = cut(&mut memory, &sizes).try_into().unwrap();
            for (i, (band, (across, down))) in bands.iter().zip(sizes).enumerate() {
                for y in 0..down {
                    for x in 0..across {
                        let at = (2 * y + i / 2) * width + 2 * x + i % 2;
                        prop_assert_eq!(band[y * across + x], expected[at]);
                    }
                }
            }
            plane.fill(7);
            join(bands, (width, height), &mut plane);
            prop_assert_eq!(plane, data);
        }

        #[test]
        fn bits_are_counted(number in 0_u32..1 << 31, shift in 0_u32..32) {
            let number = number >> shift;
            prop_assert_eq!(u32::from(bits(number)), 32 - number.leading_zeros());
        }

        #[test]
        fn colours_come_back(rgb in any::<[i32; 3]>()) {
            let wide = rgb.map(i64::from);
            prop_assert_eq!(i64::recorrelate(i64::decorrelate(wide)), wide);
        }
    }
}
