//! Square blocks of planes.

/// The block of a plane at a corner; values beyond the border are clamped.
#[inline(always)]
pub(crate) fn part<'a, const SIDE: usize, const PIXELS: usize>(
    plane: &'a [f32],
    (width, height): (i32, i32),
    (x, y): (i32, i32),
    copy: &'a mut [f32; PIXELS],
) -> (&'a [f32], usize) {
    let side = SIDE as i32;
    if x >= 0 && y >= 0 && x + side <= width && y + side <= height {
        return (&plane[(y * width + x) as usize..], width as usize);
    }
    beyond::<SIDE>(plane, (width, height), (x, y), copy);
    (&copy[..], SIDE)
}

/// Copies a block that extends beyond the border: rare, and kept out of the hot loop.
#[cold]
#[inline(never)]
fn beyond<const SIDE: usize>(
    plane: &[f32],
    (width, height): (i32, i32),
    (x, y): (i32, i32),
    copy: &mut [f32],
) {
    // Columns left and right of the plane, and what is between.
    let side = SIDE as i32;
    let [before, after] = [-x, x + side - width].map(|n| n.clamp(0, side) as usize);
    let last = width as usize - 1;
    for (j, to) in copy.chunks_exact_mut(SIDE).take(SIDE).enumerate() {
        let row = &plane[((y + j as i32).clamp(0, height - 1) * width) as usize..][..=last];
        to[..before].fill(row[0]);
        to[SIDE - after..].fill(row[last]);
        if before + after < SIDE {
            let from = (x + before as i32) as usize;
            to[before..SIDE - after].copy_from_slice(&row[from..][..SIDE - after - before]);
        }
    }
}

/// Prefetches rows of a block that [`part`] will read, unless they are beyond the border.
#[inline(always)]
pub(crate) fn prefetch_rows(
    plane: &[f32],
    (width, height): (i32, i32),
    (x, y): (i32, i32),
    rows: std::ops::Range<i32>,
) {
    if x < 0 || x >= width || y + rows.start < 0 || y + rows.end > height {
        return;
    }
    for j in rows {
        if let Some(value) = plane.get(((y + j) * width + x) as usize) {
            prefetch(value);
        }
    }
}

#[inline(always)]
fn prefetch(value: &f32) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the address is that of a value; a prefetch has no observable effect.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_beyond_the_border_are_clamped() {
        for (width, height) in [(1, 1), (3, 2), (9, 12), (40, 30)] {
            let plane: Vec<f32> = (0..width * height).map(|v| v as f32).collect();
            for (x, y) in [
                (-20, 0),
                (-3, -3),
                (width - 5, height - 2),
                (width + 9, 1),
                (0, 0),
                (2, 50),
            ] {
                let mut copy = [0.0; 64];
                let (block, pitch) = part::<8, _>(&plane, (width, height), (x, y), &mut copy);
                for j in 0..8 {
                    for i in 0..8 {
                        let (px, py) = ((x + i).clamp(0, width - 1), (y + j).clamp(0, height - 1));
                        let found = block[j as usize * pitch + i as usize];
                        assert_eq!(
                            found,
                            (py * width + px) as f32,
                            "{width} {height} {x} {y} {i} {j}"
                        );
                    }
                }
            }
        }
    }
}
