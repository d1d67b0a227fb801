fn sample(x: i32, y: i32, plane: u32) -> f32 {
    if u32(x) >= p.width {
        return 0.0;
    }
    return src[(plane * p.height + u32(mirror(y, p.height))) * p.width + u32(x)];
}

// A low and a high coefficient of a column.
fn keep(x: i32, i: i32, plane: u32, even: f32, odd: f32) {
    if u32(x) >= p.width {
        return;
    }
    let left = u32(x) < p.low_width;
    let scales = select(SCALES.yw, SCALES.xz, left);
    let at = (plane * p.frame_height + u32(i)) * p.frame_width + u32(x);
    if u32(i) < p.low_height {
        if left {
            put_low(x, i, plane, even * scales.x);
        } else {
            coefficients[at] = even * scales.x;
        }
    }
    if p.low_height + u32(i) < p.height {
        coefficients[at + p.low_height * p.frame_width] = odd * scales.y;
    }
}
