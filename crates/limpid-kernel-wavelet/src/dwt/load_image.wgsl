
fn load(quad: vec2<i32>, plane: u32) -> vec4<f32> {
    let x0 = mirror(2 * quad.x, p.width);
    let x1 = mirror(2 * quad.x + 1, p.width);
    let y0 = mirror(2 * quad.y, p.height);
    let y1 = mirror(2 * quad.y + 1, p.height);
    return vec4<f32>(
        pixel(x0, y0, plane),
        pixel(x1, y0, plane),
        pixel(x0, y1, plane),
        pixel(x1, y1, plane),
    );
}

// A quad inside the image.
fn load_inside(quad: vec2<i32>, plane: u32) -> vec4<f32> {
    let at = 2 * quad;
    return vec4<f32>(
        pixel(at.x, at.y, plane),
        pixel(at.x + 1, at.y, plane),
        pixel(at.x, at.y + 1, plane),
        pixel(at.x + 1, at.y + 1, plane),
    );
}
