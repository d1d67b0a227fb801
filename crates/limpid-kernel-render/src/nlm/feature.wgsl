// Weights of one feature, Eq. 3.10 to 3.12 with opposite pixels combined, for both partners.

fn three(base: i32, t: Trio) -> vec3<i32> {
    return base + vec3(t.p, t.plus, t.minus);
}

fn feature(t: Trio, first: i32, planes: i32, tau: f32) -> vec2<f32> {
    var d = vec3(0.0);
    for (var c = first; c < first + planes; c++) {
        let i = three(c * i32(p.pixels), t);
        let u = vec3(feature_values[i.x], feature_values[i.y], feature_values[i.z]);
        let v = vec3(feature_variance[i.x], feature_variance[i.y], feature_variance[i.z]);
        let s = vec3(feature_spread[i.x], feature_spread[i.y], feature_spread[i.z]);
        d += distance3(u, v, max(s, vec3(tau)), p.k_feature * p.k_feature, 1.0);
    }
    d /= f32(planes);
    return combine(exp3(-max(d, vec3(0.0))), d, t.ok.z).xy;
}
