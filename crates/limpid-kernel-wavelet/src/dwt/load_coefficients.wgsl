// Low and high coefficients at their positions.
fn gather(l: vec2<i32>, h: vec2<i32>, plane: u32) -> vec4<f32> {
    let right = p.low_width + u32(h.x);
    let below = p.low_height + u32(h.y);
    let row = plane * p.frame_height;
    var v = vec4<f32>(low_value(l, plane), 0.0, 0.0, 0.0);
    // A line of one sample has no high coefficients.
    if p.width > 1u {
        v[1] = softened(coefficients[(row + u32(l.y)) * p.frame_width + right], plane, 1u);
    }
    if p.height > 1u {
        v[2] = softened(coefficients[(row + below) * p.frame_width + u32(l.x)], plane, 2u);
    }
    if p.width > 1u && p.height > 1u {
        v[3] = softened(coefficients[(row + below) * p.frame_width + right], plane, 3u);
    }
    return v * SCALES;
}

fn load(quad: vec2<i32>, plane: u32) -> vec4<f32> {
    let l = vec2<i32>(mirror(2 * quad.x, p.width), mirror(2 * quad.y, p.height)) / 2;
    let h = vec2<i32>(mirror(2 * quad.x + 1, p.width), mirror(2 * quad.y + 1, p.height)) / 2;
    return gather(l, h, plane);
}

// A quad inside the image.
fn load_inside(quad: vec2<i32>, plane: u32) -> vec4<f32> {
    let at = (plane * p.frame_height + u32(quad.y)) * p.frame_width + u32(quad.x);
    let below = at + p.low_height * p.frame_width;
    let hl = softened(coefficients[at + p.low_width], plane, 1u);
    let lh = softened(coefficients[below], plane, 2u);
    let hh = softened(coefficients[below + p.low_width], plane, 3u);
    return vec4<f32>(low_value(quad, plane), hl, lh, hh) * SCALES;
}
