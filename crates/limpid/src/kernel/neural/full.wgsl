alias Stored = vec4<f32>;

fn stored(v: vec4<f32>) -> Stored {
    return v;
}

fn unstored(v: Stored) -> vec4<f32> {
    return v;
}
