alias Stored = vec2<u32>;
alias Value = vec4<f32>;

fn stored(v: vec4<f32>) -> Stored {
    let c = clamp(v, vec4(-65504.0), vec4(65504.0));
    return vec2(pack2x16float(c.xy), pack2x16float(c.zw));
}

fn unstored(v: Stored) -> Value {
    return vec4(unpack2x16float(v.x), unpack2x16float(v.y));
}
