fn row(y: i32, plane: u32) -> u32 {
    return (plane * p.height + u32(y)) * p.width;
}

fn pixel(x: i32, start: u32) -> f32 {
    let at = start + u32(x);
    return src[at / 4u][at % 4u];
}

// Two quads side by side, the first in an even column. Row lengths are multiples of four pixels.
fn load_two(quad: vec2<i32>, plane: u32) -> array<vec4<f32>, 2> {
    let top = row(mirror(2 * quad.y, p.height), plane);
    let bottom = row(mirror(2 * quad.y + 1, p.height), plane);
    var two: array<vec4<f32>, 2>;
    for (var i = 0; i < 2; i++) {
        let x0 = mirror(2 * (quad.x + i), p.width);
        let x1 = mirror(2 * (quad.x + i) + 1, p.width);
        two[i] = vec4<f32>(pixel(x0, top), pixel(x1, top), pixel(x0, bottom), pixel(x1, bottom));
    }
    return two;
}

// Quads inside the image.
fn load_two_inside(quad: vec2<i32>, plane: u32) -> array<vec4<f32>, 2> {
    let fours = p.width / 4u;
    let at = (plane * p.height + 2u * u32(quad.y)) * fours + u32(quad.x) / 2u;
    let top = src[at];
    let bottom = src[at + fours];
    return array<vec4<f32>, 2>(vec4<f32>(top.xy, bottom.xy), vec4<f32>(top.zw, bottom.zw));
}
