alias Stored = vec4<f16>;
alias Value = vec4<f16>;

fn stored(v: vec4<f32>) -> Stored {
    return vec4<f16>(clamp(v, vec4(-65504.0), vec4(65504.0)));
}

fn unstored(v: Stored) -> Value {
    return v;
}
