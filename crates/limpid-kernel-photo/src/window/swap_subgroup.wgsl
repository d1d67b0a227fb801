fn swap_x(v: vec4<f32>) -> vec4<f32> {
    return quadSwapX(v);
}

fn swap_y(v: vec4<f32>) -> vec4<f32> {
    return quadSwapY(v);
}
