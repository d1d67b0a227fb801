// The weight of two normals as an exponent of 2 added to `h`; normals are integers, those of the centre are scaled beforehand.
fn turned(a: vec3<f32>, b: vec3<f32>, h: f32) -> f32 {
    return fma(POWER, log2(max(dot(a, b), 1e-10)), h);
}
