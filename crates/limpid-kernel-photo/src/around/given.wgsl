// As far from straight lines to splines as another layer goes.

fn limit(own: vec4<f32>, at: u32) -> vec4<f32> {
    return vec4<f32>(unstored(read3[at]));
}
