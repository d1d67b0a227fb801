fn four(v: vec2<u32>) -> vec4<f32> {
    return vec4(unpack2x16float(v.x), unpack2x16float(v.y));
}

fn put(i: u32, v: vec4<f32>) {
    let c = clamp(v, vec4(-65504.0), vec4(65504.0));
    payload[i] = vec2(pack2x16float(c.xy), pack2x16float(c.zw));
}

fn variance_at(i: u32) -> f32 {
    return unpack2x16float(payload[i].y).y;
}

fn put_variance(i: u32, variance: f32) {
    let bits = pack2x16float(vec2(0.0, min(variance, 65504.0)));
    payload[i].y = (payload[i].y & 0xffffu) | (bits & 0xffff0000u);
}
