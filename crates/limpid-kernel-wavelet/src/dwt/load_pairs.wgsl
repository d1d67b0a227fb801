fn row(y: i32, plane: u32) -> u32 {
    return (plane * p.height + u32(y)) * p.width;
}

fn pixel(x: i32, start: u32) -> f32 {
    let at = start + u32(x);
    return src[at / 2u][at % 2u];
}

// Rows have an even number of pixels: inside the image the two pixels of a quad's row are read at once.
fn load(quad: vec2<i32>, plane: u32) -> vec4<f32> {
    let top = row(mirror(2 * quad.y, p.height), plane);
    let bottom = row(mirror(2 * quad.y + 1, p.height), plane);
    if quad.x >= 0 && 2 * quad.x < i32(p.width) {
        let x = u32(quad.x);
        return vec4<f32>(src[top / 2u + x], src[bottom / 2u + x]);
    }
    let x0 = mirror(2 * quad.x, p.width);
    let x1 = mirror(2 * quad.x + 1, p.width);
    return vec4<f32>(pixel(x0, top), pixel(x1, top), pixel(x0, bottom), pixel(x1, bottom));
}

// A quad inside the image.
fn load_inside(quad: vec2<i32>, plane: u32) -> vec4<f32> {
    let pairs = p.width / 2u;
    let at = (plane * p.height + 2u * u32(quad.y)) * pairs + u32(quad.x);
    return vec4<f32>(src[at], src[at + pairs]);
}
