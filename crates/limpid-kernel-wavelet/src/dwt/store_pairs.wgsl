// Rows have an even number of pixels: the two pixels of a quad's row are written at once.
fn store(quad: vec2<i32>, plane: u32, value: vec4<f32>) {
    let x = u32(quad.x);
    let y = 2u * u32(quad.y);
    let pairs = p.width / 2u;
    let at = (plane * p.height + y) * pairs + x;
    if x < pairs && y < p.height {
        dst[at] = value.xy;
    }
    if x < pairs && y + 1u < p.height {
        dst[at + pairs] = value.zw;
    }
}

// A quad inside the image.
fn store_inside(quad: vec2<i32>, plane: u32, value: vec4<f32>) {
    let pairs = p.width / 2u;
    let at = (plane * p.height + 2u * u32(quad.y)) * pairs + u32(quad.x);
    dst[at] = value.xy;
    dst[at + pairs] = value.zw;
}
