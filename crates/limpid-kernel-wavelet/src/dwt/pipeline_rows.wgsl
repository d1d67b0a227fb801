fn sample(x: i32, y: i32, plane: u32) -> f32 {
    return src[(plane * p.height + u32(y)) * p.width + u32(mirror(x, p.width))];
}

// A low and a high coefficient of a row: low ones on the left.
fn keep(i: i32, y: i32, plane: u32, even: f32, odd: f32) {
    let at = (plane * p.height + u32(y)) * p.width + u32(i);
    if u32(i) < p.low_width {
        dst[at] = even;
    }
    if p.low_width + u32(i) < p.width {
        dst[at + p.low_width] = odd;
    }
}
