//! How planes are numbered, and numbers packed into words.

use limpid_reference::definition::patch::{MOST, PATCH, RADIUS};

/// How far a row of the matrix reaches.
pub(super) const REACH: isize = 2 * RADIUS as isize;
pub(super) const SIDE: usize = 2 * RADIUS + 1;

/// Planes of a slot of weights.
pub const WEIGHT_PLANES: usize = PATCH / 2;
/// Planes of a slot of bases.
pub const BASIS_PLANES: usize = PATCH * MOST / 2;
/// Planes of a slot of cross products.
pub const CROSS_PLANES: usize = MOST * (MOST + 1) / 2;
/// Following neighbours of a pixel in the matrix.
pub(super) const NEIGHBOURS: usize = 40;
/// Offset of a patch's pixel from its centre.
pub(super) const fn offset(a: usize) -> (isize, isize) {
    let r = RADIUS as isize;
    ((a % SIDE) as isize - r, (a / SIDE) as isize - r)
}

/// Whether an offset comes after its opposite, row by row.
pub(super) const fn follows((dx, dy): (isize, isize)) -> bool {
    dy > 0 || (dy == 0 && dx > 0)
}

/// The plane of weights for a following offset.
pub(super) const fn weight_plane((dx, dy): (isize, isize)) -> usize {
    let r = RADIUS as isize;
    if dy == 0 {
        (dx - 1) as usize
    } else {
        (r + (dy - 1) * SIDE as isize + dx + r) as usize
    }
}

/// The plane of the matrix for a following offset or zero.
pub(super) const fn matrix_plane((dx, dy): (isize, isize)) -> usize {
    if dy == 0 {
        dx as usize
    } else {
        (REACH + 1 + (dy - 1) * (2 * REACH + 1) + dx + REACH) as usize
    }
}

/// Following offsets of the matrix, in the order of their planes.
pub(super) const OFFSETS: [(isize, isize); NEIGHBOURS] = {
    let mut all = [(0, 0); NEIGHBOURS];
    let mut dy = 0;
    while dy <= REACH {
        let mut dx = -REACH;
        while dx <= REACH {
            if follows((dx, dy)) {
                all[matrix_plane((dx, dy)) - 1] = (dx, dy);
            }
            dx += 1;
        }
        dy += 1;
    }
    all
};

/// The index of an entry of `Bᵀ Ω B` in its upper triangle.
pub(super) const fn cross_plane(k: usize, l: usize) -> usize {
    let (k, l) = if k < l { (k, l) } else { (l, k) };
    k * MOST - k * (k + 1) / 2 + l
}

/// Pixels that a CPU body processes at once.
pub(super) const LANES: usize = 16;
pub(super) type Lanes = [f32; LANES];
pub(super) const ZERO: Lanes = [0.0; LANES];

/// Largest value of a fraction of 16 bits.
pub(super) const SCALE: f32 = 32767.0;

/// Two numbers in -1 … 1 in a word, like WGSL's `pack2x16snorm`.
#[inline(always)]
pub(super) fn pack(low: f32, high: f32) -> f32 {
    let part = |v: f32| ((v * SCALE + 0.5).floor() as i32 & 0xffff) as u32;
    f32::from_bits(part(low) | part(high) << 16)
}

/// Unpacks such words.
#[inline(always)]
pub(super) fn unpack(words: &Lanes) -> (Lanes, Lanes) {
    let (mut low, mut high) = (ZERO, ZERO);
    for l in 0..LANES {
        let bits = words[l].to_bits() as i32;
        low[l] = (bits << 16 >> 16) as f32 * (1.0 / SCALE);
        high[l] = (bits >> 16) as f32 * (1.0 / SCALE);
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_numbered_without_gaps() {
        let mut weights = Vec::new();
        for a in 0..PATCH {
            if follows(offset(a)) {
                weights.push(weight_plane(offset(a)));
            }
        }
        assert_eq!(weights, (0..WEIGHT_PLANES).collect::<Vec<_>>());
        let matrix = OFFSETS.map(matrix_plane);
        assert_eq!(matrix, std::array::from_fn(|i| i + 1));
        assert!(OFFSETS.is_sorted_by_key(|(dx, dy)| (*dy, *dx)));
        let mut cross = Vec::new();
        for k in 0..MOST {
            for l in k..MOST {
                cross.push(cross_plane(k, l));
            }
        }
        assert_eq!(cross, (0..CROSS_PLANES).collect::<Vec<_>>());
    }

    #[test]
    fn fractions_come_back() {
        for v in [-1.0, -0.3, 0.0, 1e-4, 0.7, 1.0] {
            let (low, high) = unpack(&[pack(v, -v); LANES]);
            assert!((low[3] - v).abs() < 2e-5 && (high[3] + v).abs() < 2e-5);
        }
    }
}
