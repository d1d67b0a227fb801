@group(0) @binding(2) var<storage, read> guides: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> others: array<vec4<f32>>;

struct Guides {
    low: vec4<f32>,
    high: vec4<f32>,
}

fn guides_at(i: u32) -> Guides {
    let n = p.width * p.height;
    return Guides(guides[2u * p.guides * n + i], guides[(2u * p.guides + 1u) * n + i]);
}

fn precisions_at(i: u32) -> vec4<f32> {
    return others[i];
}

fn difference(a: Guides, b: Guides) -> f32 {
    let d = a.low - b.low;
    let e = a.high - b.high;
    return dot(d, d) + dot(e, e);
}
