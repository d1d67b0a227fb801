// A texel inside the image.
fn inner(x: i32, y: i32) -> vec4<f32> {
    return planes_at(y * i32(p.width) + x, i32(p.width * p.height));
}

// A texel, or zero outside the image.
fn texel(x: i32, y: i32) -> vec4<f32> {
    let cx = clamp(x, 0, i32(p.width) - 1);
    let cy = clamp(y, 0, i32(p.height) - 1);
    return select(vec4<f32>(0.0), inner(cx, cy), cx == x && cy == y);
}
