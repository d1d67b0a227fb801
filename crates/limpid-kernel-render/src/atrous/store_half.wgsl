fn store(i: u32, v: vec4<f32>) {
    let c = clamp(v, vec4(-65504.0), vec4(65504.0));
    dst[i] = vec2(pack2x16float(c.xy), pack2x16float(c.zw));
}
