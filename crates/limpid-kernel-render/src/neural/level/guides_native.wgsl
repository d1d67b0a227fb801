enable f16;
struct Guides {
    low: vec4<f16>,
    high: vec4<f16>,
}

@group(0) @binding(2) var<storage, read> guides: array<Guides>;
@group(0) @binding(3) var<storage, read> others: array<vec4<f16>>;

fn guides_at(i: u32) -> Guides {
    return guides[p.guides * p.width * p.height + i];
}

fn precisions_at(i: u32) -> vec4<f32> {
    return vec4<f32>(others[i]);
}

// Half precision suffices for differences of guides. The last sum is in single precision: conversions take longer than
// additions.
fn difference(a: Guides, b: Guides) -> f32 {
    let d = a.low - b.low;
    let e = a.high - b.high;
    let squares = d * d + e * e;
    let two = squares.xy + squares.zw;
    return f32(two.x) + f32(two.y);
}
