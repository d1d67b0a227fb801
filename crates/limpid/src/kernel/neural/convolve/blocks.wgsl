// A chunk is one plane of the picture: the four pixels of a block, continued by the last ones.
fn source(chunk: u32, at: vec2<i32>) -> vec4<f32> {
    let last = vec2(p.from_width, p.from_height) - 1u;
    let low = min(2u * vec2<u32>(at), last);
    let high = min(2u * vec2<u32>(at) + 1u, last);
    let plane = chunk / 4u * p.from_width * p.from_height;
    let above = plane + low.y * p.from_width;
    let below = plane + high.y * p.from_width;
    let k = chunk % 4u;
    return vec4(
        unstored(src[above + low.x])[k],
        unstored(src[above + high.x])[k],
        unstored(src[below + low.x])[k],
        unstored(src[below + high.x])[k],
    );
}
