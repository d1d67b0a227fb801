// The bilateral weight of a texel, with the hardware's exp2; negligible weights underflow to zero.
fn near(t: vec4<f32>, c: vec4<f32>, i: i32, j: i32) -> f32 {
    let d = t.rgb - c.rgb;
    return exp2(dot(d, d) * RANGE + f32(i * i + j * j) * SPACE);
}
