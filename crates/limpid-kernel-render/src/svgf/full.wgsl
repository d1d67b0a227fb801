fn four(v: vec4<f32>) -> vec4<f32> {
    return v;
}

fn put(i: u32, v: vec4<f32>) {
    payload[i] = v;
}

fn variance_at(i: u32) -> f32 {
    return payload[i].w;
}

fn put_variance(i: u32, variance: f32) {
    payload[i].w = variance;
}
