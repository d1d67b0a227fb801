fn source(chunk: u32, at: vec2<i32>) -> Value {
    let i = chunk * p.from_width * p.from_height + 2u * u32(at.y) * p.from_width + 2u * u32(at.x);
    let above = max(unstored(src[i]), unstored(src[i + 1u]));
    let below = i + p.from_width;
    return max(above, max(unstored(src[below]), unstored(src[below + 1u])));
}
