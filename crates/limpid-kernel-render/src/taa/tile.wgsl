// The colour in the blending space and a one, at a pixel; zeros outside. Pixels are converted once into a tile in workgroup
// memory, instead of once for each pixel that reads them.

const WIDE: i32 = 32 + 2 * RADIUS;
const ALL: i32 = WIDE * (8 + 2 * RADIUS);

var<workgroup> tile: array<vec4<f32>, ALL>;
var<private> corner: vec2<i32>;

fn seen(q: vec2<i32>) -> vec4<f32> {
    return tile[(q.y - corner.y) * WIDE + q.x - corner.x];
}

fn fill(group: vec2<u32>, lane: u32, size: vec2<i32>) {
    corner = vec2<i32>(group * vec2<u32>(32u, 8u)) - RADIUS;
    for (var i = lane; i < u32(ALL); i += 256u) {
        let q = corner + vec2<i32>(vec2<u32>(i % u32(WIDE), i / u32(WIDE)));
        let inside = all(q >= vec2<i32>(0)) && all(q < size);
        let near = clamp(q, vec2<i32>(0), size - 1);
        let c = convert(color_at(near.y * size.x + near.x));
        tile[i] = select(vec4<f32>(0.0), vec4<f32>(c, 1.0), inside);
    }
    workgroupBarrier();
}
