fn load(i: u32) -> vec4<f32> {
    return src[i];
}

fn store(i: u32, v: vec4<f32>) {
    dst[i] = v;
}
