fn load(i: u32) -> vec4<f32> {
    return vec4(unpack2x16float(src[i].x), unpack2x16float(src[i].y));
}

fn store(i: u32, v: vec4<f32>) {
    dst[i] = vec2(pack2x16float(v.xy), pack2x16float(v.zw));
}
