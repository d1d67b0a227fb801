fn detail(i: u32) -> vec3<f32> {
    return load(fine[i]).xyz - load(coarse[i]).xyz;
}

fn shrunk(d: vec3<f32>, square: vec3<f32>, noise: vec3<f32>) -> vec3<f32> {
    let signal = square - noise;
    let threshold = noise / sqrt(max(signal, vec3(1e-20)));
    let left = max(abs(d) - threshold, vec3(0.0)) * sign(d);
    return select(vec3(0.0), left, signal > vec3(0.0));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = i32(group.x * 32u + lane % 32u);
    let y = i32(group.y * 8u + lane / 32u);
    let size = vec2<i32>(vec2(p.width, p.height));
    if x >= size.x || y >= size.y {
        return;
    }
    let low = max(vec2(x, y) - R, vec2(0));
    let high = min(vec2(x, y) + R, size - 1);
    var square = vec3(0.0);
    for (var j = low.y; j <= high.y; j++) {
        for (var i = low.x; i <= high.x; i++) {
            let d = detail(u32(j * size.x + i));
            square += d * d;
        }
    }
    square /= f32((high.x - low.x + 1) * (high.y - low.y + 1));
    let here = u32(y * size.x + x);
    let kept = shrunk(detail(here), square, vec3(p.noise0, p.noise1, p.noise2));
    var before = vec4(0.0);
    if p.keep > 0.0 {
        before = sum[here];
    }
    let c = load(coarse[here]);
    sum[here] = before + p.gain * vec4(kept, 0.0) + p.coarse * c;
}
