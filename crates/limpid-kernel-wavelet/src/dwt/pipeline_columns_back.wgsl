fn sample(x: i32, y: i32, plane: u32) -> f32 {
    // A line of one sample has no high coefficients.
    if u32(x) >= p.width || (p.height == 1u && (y & 1) == 1) {
        return 0.0;
    }
    let row = mirror(y, p.height);
    let left = u32(x) < p.low_width;
    let scales = select(SCALES.yw, SCALES.xz, left);
    if (row & 1) == 1 {
        let below = p.low_height + u32(row / 2);
        return coefficients[(plane * p.frame_height + below) * p.frame_width + u32(x)] * scales.y;
    }
    if left {
        return low_at(x, row / 2, plane) * scales.x;
    }
    return coefficients[(plane * p.frame_height + u32(row / 2)) * p.frame_width + u32(x)] * scales.x;
}

fn keep(x: i32, i: i32, plane: u32, even: f32, odd: f32) {
    let y = 2u * u32(i);
    if u32(x) >= p.width {
        return;
    }
    let at = (plane * p.height + y) * p.width + u32(x);
    if y < p.height {
        dst[at] = even;
    }
    if y + 1u < p.height {
        dst[at + p.width] = odd;
    }
}
