// Converts colours to the blending space, luma and differences with bright colours compressed, and back; with the functions of
// `opponent.wgsl` or those of grey images.

fn scale(y: f32) -> f32 {
    return 1.0 + p.highlights * max(y, 0.0);
}

fn convert(c: vec3<f32>) -> vec3<f32> {
    let v = differences(c);
    return v * (1.0 / scale(v.x));
}

fn back(c: vec3<f32>) -> vec3<f32> {
    return colors(c * (1.0 / max(1.0 - p.highlights * max(c.x, 0.0), LEAST_SCALE)));
}
