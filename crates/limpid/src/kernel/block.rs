//! Square parts of planes.

/// The part of a plane that starts at a corner; with the values of the border where it is beyond it.
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
    for j in 0..SIDE {
        let row = &plane[((y + j as i32).clamp(0, height - 1) * width) as usize..];
        for i in 0..SIDE {
            copy[SIDE * j + i] = row[(x + i as i32).clamp(0, width - 1) as usize];
        }
    }
    (&copy[..], SIDE)
}
