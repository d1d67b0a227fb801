fn source(chunk: u32, at: vec2<i32>) -> Value {
    let place = vec2<u32>(at);
    let small = vec2(p.width, p.height) / 2u;
    let coarse = chunk * small.x * small.y + place.y / 2u * small.x + place.x / 2u;
    let fine = chunk * p.width * p.height + place.y * p.width + place.x;
    return unstored(src[fine]) + unstored(coarse_map[coarse]);
}
