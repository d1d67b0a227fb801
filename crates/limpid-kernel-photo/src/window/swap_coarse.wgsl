// Exchanges by derivatives, Eq. 9 and 10.
fn swap_x(v: vec4<f32>) -> vec4<f32> {
    return v + f32(tx) * dpdxCoarse(v);
}

fn swap_y(v: vec4<f32>) -> vec4<f32> {
    return v + f32(ty) * dpdyCoarse(v);
}
