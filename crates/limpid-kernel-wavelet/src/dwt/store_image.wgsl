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

// A quad inside the image.
fn store_inside(quad: vec2<i32>, plane: u32, value: vec4<f32>) {
    store(quad, plane, value);
}
