@group(0) @binding(2) var<storage, read> guides: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> others: array<vec2<u32>>;

struct Guides {
    low: vec4<f32>,
    high: vec4<f32>,
}

fn guides_at(i: u32) -> Guides {
    let v = guides[p.guides * p.width * p.height + i];
    return Guides(
        vec4(unpack2x16float(v.x), unpack2x16float(v.y)),
        vec4(unpack2x16float(v.z), unpack2x16float(v.w)),
    );
}

fn precisions_at(i: u32) -> vec4<f32> {
    return vec4(unpack2x16float(others[i].x), unpack2x16float(others[i].y));
}

fn difference(a: Guides, b: Guides) -> f32 {
    let d = a.low - b.low;
    let e = a.high - b.high;
    return dot(d, d) + dot(e, e);
}
