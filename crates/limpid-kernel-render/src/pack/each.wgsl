// A thread for each pixel `i`.
@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.y * p.across + id.x;
    if i < p.count {
        pixel(i);
    }
}

fn divisor(a: f32) -> f32 {
    return select(1.0, a, a > BLACK);
}

fn half4(v: vec4<f32>) -> vec2<u32> {
    let c = clamp(v, vec4(-65504.0), vec4(65504.0));
    return vec2(pack2x16float(c.xy), pack2x16float(c.zw));
}

fn full4(v: vec2<u32>) -> vec4<f32> {
    return vec4(unpack2x16float(v.x), unpack2x16float(v.y));
}

fn pow2(v: f32) -> f32 {
    return v * v;
}
