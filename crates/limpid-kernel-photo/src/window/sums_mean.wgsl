// Weighted texels and, in alpha, the sum of weights.
struct Sums {
    a: vec4<f32>,
}

struct Made {
    first: vec3<f32>,
}

fn finished(sums: Sums) -> Made {
    return Made(sums.a.rgb / sums.a.a);
}
