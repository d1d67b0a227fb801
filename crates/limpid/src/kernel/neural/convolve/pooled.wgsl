fn source(chunk: u32, at: vec2<i32>) -> vec4<f32> {
    let i = chunk * p.from_width * p.from_height + 2u * u32(at.y) * p.from_width + 2u * u32(at.x);
    let above = max(src[i], src[i + 1u]);
    return max(above, max(src[i + p.from_width], src[i + p.from_width + 1u]));
}
