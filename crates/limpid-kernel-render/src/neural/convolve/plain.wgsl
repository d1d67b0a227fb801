fn source(chunk: u32, at: vec2<i32>) -> Value {
    return unstored(src[chunk * p.width * p.height + u32(at.y) * p.width + u32(at.x)]);
}
