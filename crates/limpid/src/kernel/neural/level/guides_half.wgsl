@group(0) @binding(2) var<storage, read> guides: array<vec4<u32>>;

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
