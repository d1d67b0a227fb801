// The weight of a texel of the bilateral filter, in powers of two, which hardware has; far too small ones are zero by
// themselves.
fn near(t: vec4<f32>, c: vec4<f32>, i: i32, j: i32) -> f32 {
    let d = t.rgb - c.rgb;
    return exp2(dot(d, d) * RANGE + f32(i * i + j * j) * SPACE);
}
