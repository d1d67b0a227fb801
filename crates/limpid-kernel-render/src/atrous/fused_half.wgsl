fn as_stored(v: vec4<f32>) -> vec4<f32> {
    let scale = vec4(p.uncolor, p.uncolor, p.uncolor, 1.0);
    let c = clamp(v * scale, vec4(-65504.0), vec4(65504.0));
    return vec4(unpack2x16float(pack2x16float(c.xy)), unpack2x16float(pack2x16float(c.zw))) / scale;
}
