alias Stored = vec4<f32>;
alias Value = vec4<f32>;

fn stored(v: vec4<f32>) -> Stored {
    return v;
}

fn unstored(v: Stored) -> Value {
    return v;
}
