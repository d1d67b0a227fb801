fn divided(c: vec3<f32>, a: vec3<f32>) -> vec3<f32> {
    return c / select(vec3(1.0), a, a > vec3(BLACK));
}

fn luminance(c: vec3<f32>) -> f32 {
    return dot(c, LUMINANCE);
}
