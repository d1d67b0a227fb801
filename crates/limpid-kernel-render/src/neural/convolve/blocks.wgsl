// A vector is four planes of one pixel of a block; the image is extended by repeating its last pixels.
fn source(vector: u32, at: vec2<i32>) -> Value {
    let pixel = 2u * vec2<u32>(at) + vec2(vector % 2u, vector / 2u % 2u);
    let inside = min(pixel, vec2(p.from_width, p.from_height) - 1u);
    return unstored(src[(vector / 4u * p.from_height + inside.y) * p.from_width + inside.x]);
}
