// The features of a pixel of the frame, from `z_at`, `normal_of` and its object id.

struct Pair {
    a: vec2<u32>,
    b: vec2<u32>,
    rise: f32,
}

// The pixel and the neighbour along an axis with the smaller depth difference, in order, and the change of depth between them.
fn nearer(q: vec2<u32>, z: f32, axis: vec2<u32>, before: bool, after: bool) -> Pair {
    let low = select(q, q - axis, before);
    let high = select(q, q + axis, after);
    let back = z - z_at(low);
    let fore = z_at(high) - z;
    if after && !(before && abs(back) < abs(fore)) {
        return Pair(q, high, fore);
    }
    return Pair(low, q, back);
}

fn surface_at(q: vec2<u32>, id: f32) -> Surface {
    let z = z_at(q);
    let ex = nearer(q, z, vec2(1u, 0u), q.x > 0u, q.x + 1u < p.width);
    let ey = nearer(q, z, vec2(0u, 1u), q.y > 0u, q.y + 1u < p.height);
    let n = normal_of(q, ex, ey);
    let long = length(n);
    var s: Surface;
    s.n = select(vec3(0.0), n / long, vec3(long > 0.0));
    s.z = z;
    s.g = vec2(ex.rise, ey.rise);
    s.o = select(0u, u32(max(id, 0.0)) + 1u, id >= 0.0 && id < 65535.0 && floor(id) == id);
    return s;
}

// Light with its variance; moments.
struct Seen {
    c: vec4<f32>,
    m: vec3<f32>,
}

// The source of history, and the share of the new frame.
var<private> taps_at: array<u32, 4>;
var<private> taps_weight: vec4<f32>;
var<private> taps_alpha: f32 = 1.0;
