// Splines in the range of the nearest pixels; how far they go from straight lines is told, and kept to by the layer itself.

fn limit(own: vec4<f32>, at: u32) -> vec4<f32> {
    let told = stored(own);
    write1[at] = told;
    return vec4<f32>(unstored(told));
}
