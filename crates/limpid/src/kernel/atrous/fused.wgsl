// The result of a level, as it would be stored.
fn made(s: Sums) -> vec4<f32> {
    let n = 1.0 / s.w;
    return as_stored(s.c0 * vec4(n, n, n, select(n, n * n, SQUARED)));
}
