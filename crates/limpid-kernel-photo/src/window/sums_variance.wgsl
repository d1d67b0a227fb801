// Texels and their squares and, in alpha, their number.
struct Sums {
    a: vec4<f32>,
    a_sq: vec4<f32>,
}

struct Made {
    first: vec3<f32>,
    second: vec3<f32>,
}

fn finished(sums: Sums) -> Made {
    let first = sums.a.rgb / sums.a.a;
    let spread = max(sums.a_sq.rgb / sums.a.a - first * first, vec3<f32>(0.0));
    return Made(first, select(sqrt(spread), vec3<f32>(0.0), sums.a.a < 1.5));
}
