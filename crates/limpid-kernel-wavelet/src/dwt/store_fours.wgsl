// Two quads side by side, the first in an even column. Row lengths are multiples of four pixels.
fn store_two(quad: vec2<i32>, plane: u32, a: vec4<f32>, b: vec4<f32>) {
    let x = u32(quad.x) / 2u;
    let y = 2u * u32(quad.y);
    let fours = p.width / 4u;
    let at = (plane * p.height + y) * fours + x;
    if x < fours && y < p.height {
        dst[at] = vec4<f32>(a.xy, b.xy);
    }
    if x < fours && y + 1u < p.height {
        dst[at + fours] = vec4<f32>(a.zw, b.zw);
    }
}

// Quads inside the image.
fn store_two_inside(quad: vec2<i32>, plane: u32, a: vec4<f32>, b: vec4<f32>) {
    let fours = p.width / 4u;
    let at = (plane * p.height + 2u * u32(quad.y)) * fours + u32(quad.x) / 2u;
    dst[at] = vec4<f32>(a.xy, b.xy);
    dst[at + fours] = vec4<f32>(a.zw, b.zw);
}
