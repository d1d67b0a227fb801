// The four pixels around a position that lie inside and have history, with the sum of their weights.

fn tap(q: vec2<i32>, size: vec2<i32>, weight: f32) -> vec4<f32> {
    let inside = all(q >= vec2<i32>(0)) && all(q < size);
    let v = old(q, size);
    return select(0.0, weight * v.w, inside) * vec4<f32>(v.xyz, 1.0);
}

fn history_around(place: vec2<f32>, size: vec2<i32>) -> vec4<f32> {
    let b = vec2<i32>(floor(place));
    let f = place - floor(place);
    return tap(b, size, (1.0 - f.x) * (1.0 - f.y)) + tap(b + vec2<i32>(1, 0), size, f.x * (1.0 - f.y))
        + tap(b + vec2<i32>(0, 1), size, (1.0 - f.x) * f.y) + tap(b + 1, size, f.x * f.y);
}
