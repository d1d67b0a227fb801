//! The reversible 5/3 transform (ITU-T T.800, annex F) between a plane and its sub-bands.
//!
//! Vertically first when splitting, horizontally first when joining; the borders are mirrored. Damaged data wraps around.

/// A whole number of a plane: 32 bits where samples have 16, otherwise 64.
pub(super) trait Whole: Copy + Default + Send + Sync + bytemuck::Zeroable {
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
    ($t:ty, $code:ty, $planes:literal) => {
        impl Whole for $t {
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
                (code, (<$code>::BITS - odd.leading_zeros()) as u8)
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

whole!(i32, u32, 27);
whole!(i64, u64, 48);

/// Samples with their width.
#[derive(Debug, Clone, Default)]
pub(super) struct Plane<T> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) data: Vec<T>,
}

impl<T: Whole> Plane<T> {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            data: limpid_core::memory::zeros(width * height),
        }
    }

    fn row(&self, y: usize) -> &[T] {
        &self.data[y * self.width..][..self.width]
    }

    /// Three rows, of which the middle one is changed; they are apart.
    #[inline(always)]
    fn lift(&mut self, y: usize, above: usize, below: usize, step: impl Fn(T, T, T) -> T) {
        let width = self.width;
        let (before, rest) = self.data.split_at_mut(y * width);
        let (row, after) = rest.split_at_mut(width);
        let other = |at: usize| match at < y {
            true => &before[at * width..][..width],
            false => &after[(at - y - 1) * width..][..width],
        };
        for ((v, a), b) in row.iter_mut().zip(other(above)).zip(other(below)) {
            *v = step(*v, *a, *b);
        }
    }
}

/// Splits a plane into `[LL, HL, LH, HH]`.
#[inline(always)]
pub(super) fn split<T: Whole>(mut plane: Plane<T>) -> [Plane<T>; 4] {
    let (width, height) = (plane.width, plane.height);
    let last = |y: usize| if y + 1 < height { y + 1 } else { y - 1 };
    if height > 1 {
        for y in (0..height + 2).step_by(2) {
            // An odd row needs the even ones beside it, and an even row the odd ones.
            if y + 1 < height {
                plane.lift(y + 1, y, last(y + 1), T::predict);
            }
            if y < height {
                let above = if y > 0 { y - 1 } else { 1 };
                let below = if y + 1 < height { y + 1 } else { y - 1 };
                plane.lift(y, above, below, T::update);
            }
        }
    }
    let (low, high) = (width.div_ceil(2), width / 2);
    let (top, bottom) = (height.div_ceil(2), height / 2);
    let mut bands = [(low, top), (high, top), (low, bottom), (high, bottom)]
        .map(|(width, height)| Plane::new(width, height));
    let [ll, hl, lh, hh] = &mut bands;
    for y in 0..height {
        let (l, h) = if y % 2 == 0 {
            (&mut *ll, &mut *hl)
        } else {
            (&mut *lh, &mut *hh)
        };
        let l = &mut l.data[y / 2 * low..][..low];
        let h = &mut h.data[y / 2 * high..][..high];
        split_row(plane.row(y), l, h);
    }
    bands
}

#[inline(always)]
fn split_row<T: Whole>(row: &[T], low: &mut [T], high: &mut [T]) {
    for (l, v) in low.iter_mut().zip(row.iter().step_by(2)) {
        *l = *v;
    }
    if high.is_empty() {
        return;
    }
    for ((h, pair), v) in high
        .iter_mut()
        .zip(low.windows(2))
        .zip(row.iter().skip(1).step_by(2))
    {
        *h = v.predict(pair[0], pair[1]);
    }
    if low.len() == high.len() {
        let last = low[low.len() - 1];
        high[low.len() - 1] = row[row.len() - 1].predict(last, last);
    }
    update_row(low, high, T::update);
}

/// Changes even samples by the odd ones beside them.
#[inline(always)]
fn update_row<T: Whole>(low: &mut [T], high: &[T], step: impl Fn(T, T, T) -> T) {
    low[0] = step(low[0], high[0], high[0]);
    for (l, pair) in low[1..].iter_mut().zip(high.windows(2)) {
        *l = step(*l, pair[0], pair[1]);
    }
    if low.len() > high.len() {
        let last = high[high.len() - 1];
        low[high.len()] = step(low[high.len()], last, last);
    }
}

/// Joins `[LL, HL, LH, HH]` to a plane.
#[inline(always)]
pub(super) fn join<T: Whole>(mut bands: [Plane<T>; 4]) -> Plane<T> {
    let [ll, hl, lh, hh] = &mut bands;
    let (low, high) = (ll.width, hl.width);
    let mut plane = Plane::new(low + high, ll.height + lh.height);
    let (width, height) = (plane.width, plane.height);
    for (y, row) in plane.data.chunks_mut(width.max(1)).enumerate() {
        let (l, h) = if y % 2 == 0 {
            (&mut *ll, &*hl)
        } else {
            (&mut *lh, &*hh)
        };
        let l = &mut l.data[y / 2 * low..][..low];
        join_row(l, &h.data[y / 2 * high..][..high], row);
    }
    if height > 1 {
        for y in (0..height + 2).step_by(2) {
            if y < height {
                let above = if y > 0 { y - 1 } else { 1 };
                let below = if y + 1 < height { y + 1 } else { y - 1 };
                plane.lift(y, above, below, T::undo_update);
            }
            // The even rows on both sides of the odd row above are complete now.
            if y > 0 && y - 1 < height {
                let below = if y < height { y } else { y - 2 };
                plane.lift(y - 1, y - 2, below, T::unpredict);
            }
        }
    }
    plane
}

#[inline(always)]
fn join_row<T: Whole>(low: &mut [T], high: &[T], row: &mut [T]) {
    if high.is_empty() {
        row.copy_from_slice(low);
        return;
    }
    update_row(low, high, T::undo_update);
    let (pairs, rest) = row.as_chunks_mut::<2>();
    for ((out, l), h) in pairs.iter_mut().zip(low.windows(2)).zip(high) {
        *out = [l[0], h.unpredict(l[0], l[1])];
    }
    let last = low[low.len() - 1];
    match rest {
        [single] => *single = last,
        _ => pairs[low.len() - 1] = [last, high[high.len() - 1].unpredict(last, last)],
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
            let bands = split(Plane { width, height, data: data.clone() });
            for (i, band) in bands.iter().enumerate() {
                for y in 0..band.height {
                    for x in 0..band.width {
                        let at = (2 * y + i / 2) * width + 2 * x + i % 2;
                        prop_assert_eq!(band.data[y * band.width + x], expected[at]);
                    }
                }
            }
            prop_assert_eq!(join(bands).data, data);
        }

        #[test]
        fn colours_come_back(rgb in any::<[i32; 3]>()) {
            let wide = rgb.map(i64::from);
            prop_assert_eq!(i64::recorrelate(i64::decorrelate(wide)), wide);
        }
    }
}
