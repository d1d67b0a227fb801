fn luma(c: vec3<f32>) -> f32 {
    return 0.25 * c.r + 0.5 * c.g + 0.25 * c.b;
}

fn differences(c: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(luma(c), 0.5 * c.r - 0.5 * c.b, -0.25 * c.r + 0.5 * c.g - 0.25 * c.b);
}

fn colors(v: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(v.x + v.y - v.z, v.x + v.z, v.x - v.y - v.z);
}
