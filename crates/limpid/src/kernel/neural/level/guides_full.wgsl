@group(0) @binding(2) var<storage, read> guides: array<vec4<f32>>;

struct Guides {
    low: vec4<f32>,
    high: vec4<f32>,
}

fn guides_at(i: u32) -> Guides {
    let n = p.width * p.height;
    return Guides(guides[2u * p.guides * n + i], guides[(2u * p.guides + 1u) * n + i]);
}
