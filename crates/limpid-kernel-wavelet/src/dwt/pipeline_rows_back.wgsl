fn sample(x: i32, y: i32, plane: u32) -> f32 {
    let i = u32(mirror(x, p.width));
    // A line of one sample has no high coefficients.
    if p.width == 1u && (x & 1) == 1 {
        return 0.0;
    }
    return src[(plane * p.height + u32(y)) * p.width + i / 2u + (i & 1u) * p.low_width];
}

fn keep(i: i32, y: i32, plane: u32, even: f32, odd: f32) {
    let x = 2u * u32(i);
    let at = (plane * p.height + u32(y)) * p.width + x;
    if x < p.width {
        dst[at] = even;
    }
    if x + 1u < p.width {
        dst[at + 1u] = odd;
    }
}
