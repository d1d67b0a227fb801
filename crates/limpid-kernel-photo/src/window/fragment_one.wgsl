@fragment
fn main(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    return vec4<f32>(finished(sums(i32(at.x), i32(at.y))).first, 1.0);
}
