fn load(quad: vec2<i32>, plane: u32) -> vec4<f32> {
    let l = vec2<i32>(mirror(2 * quad.x, p.width), mirror(2 * quad.y, p.height)) / 2;
    let h = vec2<i32>(mirror(2 * quad.x + 1, p.width), mirror(2 * quad.y + 1, p.height)) / 2;
    let right = p.low_width + u32(h.x);
    let below = p.low_height + u32(h.y);
    let row = plane * p.frame_height;
    var v = vec4<f32>(LL_VALUE, 0.0, 0.0, 0.0);
    // A line of one sample has no high coefficients.
    if p.width > 1u {
        v[1] = coefficients[(row + u32(l.y)) * p.frame_width + right];
    }
    if p.height > 1u {
        v[2] = coefficients[(row + below) * p.frame_width + u32(l.x)];
    }
    if p.width > 1u && p.height > 1u {
        v[3] = coefficients[(row + below) * p.frame_width + right];
    }
    return v * SCALES;
}

fn put(x: u32, y: u32, plane: u32, v: f32) {
    if x < p.width && y < p.height {
        dst[(plane * p.height + y) * p.width + x] = v;
    }
}

fn store(quad: vec2<i32>, plane: u32, value: vec4<f32>) {
    let x = 2u * u32(quad.x);
    let y = 2u * u32(quad.y);
    put(x, y, plane, value[0]);
    put(x + 1u, y, plane, value[1]);
    put(x, y + 1u, plane, value[2]);
    put(x + 1u, y + 1u, plane, value[3]);
}
