fn find(box: vec4<u32>, plane: u32, count: u32, thread: u32, sigma: f32) -> f32 {
    return sigma * p.number;
}
