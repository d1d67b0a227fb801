fn store(i: u32, v: vec4<f32>) {
    dst[i] = v;
}
