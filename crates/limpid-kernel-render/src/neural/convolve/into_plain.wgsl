fn finish(block: u32, at: vec2<u32>, a: vec4<f32>, b: vec4<f32>) {
    let plane = p.width * p.height;
    let i = 2u * block * plane + at.y * p.width + at.x;
    dst[i] = stored(a);
    dst[i + plane] = stored(b);
}
