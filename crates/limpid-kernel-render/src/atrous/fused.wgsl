// The result of a level in its stored precision.
fn made(s: Sums) -> vec4<f32> {
    let n = 1.0 / s.w;
    return as_stored(s.c0 * vec4(n, n, n, select(n, n * n, SQUARED)));
}
