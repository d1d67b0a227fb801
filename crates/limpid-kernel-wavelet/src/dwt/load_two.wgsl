fn coefficient(at: u32) -> f32 {
    return coefficients[at / 2u][at % 2u];
}

fn low_value(l: vec2<i32>, plane: u32) -> f32 {
    let at = low_index(l, plane);
    return low_pair(at)[at % 2u];
}

// Two quads side by side, the first in an even column. Row lengths of all bands are multiples of two coefficients.
fn load_two(quad: vec2<i32>, plane: u32) -> array<vec4<f32>, 2> {
    let y = vec2<i32>(mirror(2 * quad.y, p.height), mirror(2 * quad.y + 1, p.height)) / 2;
    let top = (plane * p.frame_height + u32(y.x)) * p.frame_width;
    let bottom = (plane * p.frame_height + p.low_height + u32(y.y)) * p.frame_width;
    var two: array<vec4<f32>, 2>;
    for (var i = 0; i < 2; i++) {
        let column = 2 * (quad.x + i);
        let x = vec2<i32>(mirror(column, p.width), mirror(column + 1, p.width)) / 2;
        let right = p.low_width + u32(x.y);
        var v = vec4<f32>(low_value(vec2<i32>(x.x, y.x), plane), 0.0, 0.0, 0.0);
        v[1] = softened(vec2<f32>(coefficient(top + right)), plane, 1u).x;
        // A line of one sample has no high coefficients.
        if p.height > 1u {
            v[2] = softened(vec2<f32>(coefficient(bottom + u32(x.x))), plane, 2u).x;
            v[3] = softened(vec2<f32>(coefficient(bottom + right)), plane, 3u).x;
        }
        two[i] = v * SCALES;
    }
    return two;
}

// Quads inside the image.
fn load_two_inside(quad: vec2<i32>, plane: u32) -> array<vec4<f32>, 2> {
    let at = ((plane * p.frame_height + u32(quad.y)) * p.frame_width + u32(quad.x)) / 2u;
    let right = p.low_width / 2u;
    let below = at + p.low_height * p.frame_width / 2u;
    let ll = low_pair(low_index(quad, plane));
    let hl = softened(coefficients[at + right], plane, 1u);
    let lh = softened(coefficients[below], plane, 2u);
    let hh = softened(coefficients[below + right], plane, 3u);
    return array<vec4<f32>, 2>(
        vec4<f32>(ll.x, hl.x, lh.x, hh.x) * SCALES,
        vec4<f32>(ll.y, hl.y, lh.y, hh.y) * SCALES,
    );
}
