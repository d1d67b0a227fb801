// Mean and deviation of the window around a pixel.

fn statistics(here: vec2<i32>, at: i32) -> Statistics {
    var sum = vec4<f32>(0.0);
    var squares = vec3<f32>(0.0);
    for (var j = -RADIUS; j <= RADIUS; j++) {
        for (var i = -RADIUS; i <= RADIUS; i++) {
            let c = seen(here + vec2<i32>(i, j));
            sum += c;
            squares += c.xyz * c.xyz;
        }
    }
    let mean = sum.xyz / sum.w;
    let spread = max(squares / sum.w - mean * mean, vec3<f32>(0.0));
    return Statistics(mean, select(sqrt(spread), vec3<f32>(0.0), sum.w < 1.5));
}
