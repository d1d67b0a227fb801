fn pixel(x: i32, y: i32, plane: u32) -> f32 {
    return src[(plane * p.height + u32(mirror(y, p.height))) * p.width + u32(mirror(x, p.width))];
}

fn load(quad: vec2<i32>, plane: u32) -> vec4<f32> {
    let x = 2 * quad.x;
    let y = 2 * quad.y;
    return vec4<f32>(
        pixel(x, y, plane),
        pixel(x + 1, y, plane),
        pixel(x, y + 1, plane),
        pixel(x + 1, y + 1, plane),
    );
}

fn store(quad: vec2<i32>, plane: u32, value: vec4<f32>) {
    let x = u32(quad.x);
    let y = u32(quad.y);
    let v = value * SCALES;
    let right = p.width - p.low_width;
    let below = p.height - p.low_height;
    let row = plane * p.frame_height;
    if x < p.low_width && y < p.low_height {
        LL_PLACE = v[0];
    }
    if x < right && y < p.low_height {
        coefficients[(row + y) * p.frame_width + p.low_width + x] = v[1];
    }
    if x < p.low_width && y < below {
        coefficients[(row + p.low_height + y) * p.frame_width + x] = v[2];
    }
    if x < right && y < below {
        coefficients[(row + p.low_height + y) * p.frame_width + p.low_width + x] = v[3];
    }
}
