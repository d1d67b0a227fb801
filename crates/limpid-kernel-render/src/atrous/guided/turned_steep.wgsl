// The weight of two normals as an exponent of 2 added to `h`; normals are integers, those of the centre are scaled beforehand.
//
// `log c ≈ -(1 - c) - (1 - c)² / 2 = (1 - (2 - c)²) / 2` saves a logarithm for each tap. Where the approximation is poor, the
// weight of a steep power is 0: the error is at most 0.0004 for a power of 32, 0.0001 for 64.
fn turned(a: vec3<f32>, b: vec3<f32>, h: f32) -> f32 {
    let y = fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, TWICE_ROOT)));
    return fma(-y, y, h + HALF_POWER);
}
