// Soft-thresholds by a limit.
fn softened(v: vec4<f32>, limit: vec4<f32>) -> vec4<f32> {
    return sign(v) * max(abs(v) - limit, vec4<f32>(0.0));
}

// Two quads side by side, the first in an even column. Row lengths of all bands are multiples of two coefficients.
fn store_two(quad: vec2<i32>, plane: u32, a: vec4<f32>, b: vec4<f32>) {
    let x = u32(quad.x);
    let y = u32(quad.y);
    let v = scaled(a);
    let w = scaled(b);
    let at = ((plane * p.frame_height + y) * p.frame_width + x) / 2u;
    let right = p.low_width / 2u;
    if x < p.low_width && y < p.low_height {
        put_low(x, y, plane, vec2<f32>(v[0], w[0]));
        coefficients[at + right] = vec2<f32>(v[1], w[1]);
    }
    if x < p.low_width && y < p.height - p.low_height {
        let below = at + p.low_height * p.frame_width / 2u;
        coefficients[below] = vec2<f32>(v[2], w[2]);
        coefficients[below + right] = vec2<f32>(v[3], w[3]);
    }
}

// Quads inside the image.
fn store_two_inside(quad: vec2<i32>, plane: u32, a: vec4<f32>, b: vec4<f32>) {
    let x = u32(quad.x);
    let y = u32(quad.y);
    let v = scaled(a);
    let w = scaled(b);
    let at = ((plane * p.frame_height + y) * p.frame_width + x) / 2u;
    let right = p.low_width / 2u;
    let below = at + p.low_height * p.frame_width / 2u;
    put_low(x, y, plane, vec2<f32>(v[0], w[0]));
    coefficients[at + right] = vec2<f32>(v[1], w[1]);
    coefficients[below] = vec2<f32>(v[2], w[2]);
    coefficients[below + right] = vec2<f32>(v[3], w[3]);
}
