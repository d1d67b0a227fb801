// A sample of a quad; without a halo it may be beyond the border.
fn sample(quad: vec2<i32>, kind: i32) -> f32 {
    if MARGIN > 0 {
        let last = vec2<i32>(textureDimensions(src)) - 1;
        return textureLoad(src, clamp(quad, vec2<i32>(0), last), 0)[kind];
    }
    let x = mirror(2 * quad.x + kind % 2, p.width) / 2;
    let y = mirror(2 * quad.y + kind / 2, p.height) / 2;
    return textureLoad(src, vec2<i32>(x, y), 0)[kind];
}

@fragment
fn main(@builtin(position) place: vec4<f32>) -> @location(0) vec4<f32> {
    let q = vec2<i32>(place.xy);
    let own = textureLoad(src, q, 0);
    return made(q, own);
}
