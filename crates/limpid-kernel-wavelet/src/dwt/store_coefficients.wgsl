// Soft-thresholds by a limit.
fn softened(v: vec4<f32>, limit: vec4<f32>) -> vec4<f32> {
    return sign(v) * max(abs(v) - limit, vec4<f32>(0.0));
}

fn store(quad: vec2<i32>, plane: u32, value: vec4<f32>) {
    let x = u32(quad.x);
    let y = u32(quad.y);
    let v = scaled(value);
    let right = p.width - p.low_width;
    let below = p.height - p.low_height;
    let row = plane * p.frame_height;
    if x < p.low_width && y < p.low_height {
        put_low(x, y, plane, v[0]);
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

// A quad inside the image.
fn store_inside(quad: vec2<i32>, plane: u32, value: vec4<f32>) {
    let x = u32(quad.x);
    let y = u32(quad.y);
    let v = scaled(value);
    let at = (plane * p.frame_height + y) * p.frame_width + x;
    let below = at + p.low_height * p.frame_width;
    put_low(x, y, plane, v[0]);
    coefficients[at + p.low_width] = v[1];
    coefficients[below] = v[2];
    coefficients[below + p.low_width] = v[3];
}
