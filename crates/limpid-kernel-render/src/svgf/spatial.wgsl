// The variance of luminance from the pixels around, where history is short.

fn spatial(x: i32, y: i32, i: u32) {
    let frames = moments[i].z;
    if frames >= SHORT {
        return;
    }
    let a = unpacked(features[i]);
    var sums = vec2(0.0);
    var weights = 0.0;
    for (var qy = max(y - WINDOW, 0); qy <= min(y + WINDOW, i32(p.height) - 1); qy++) {
        for (var qx = max(x - WINDOW, 0); qx <= min(x + WINDOW, i32(p.width) - 1); qx++) {
            let q = u32(qy) * p.width + u32(qx);
            let b = unpacked(features[q]);
            let slope = dot(a.g, vec2(f32(qx - x), f32(qy - y)));
            let allowed = DEPTH * abs(slope) + DEPTH_LEAST * abs(a.z) + 1e-6;
            var w = fast_exp(-abs(a.z - b.z) / allowed);
            w *= exp2(POWER * log2(max(dot(a.n, b.n), 1e-10)));
            w = select(w, 0.0, a.o != b.o && a.o != 0u && b.o != 0u);
            w = select(w, 1.0, q == i);
            sums += w * moments[q].xy;
            weights += w;
        }
    }
    let mean = sums.x / weights;
    let noise = select(1.0, MIRROR_VARIANCE, MIRRORS && a.z < 0.0);
    put_variance(i, max(noise * (sums.y / weights - mean * mean) * (SHORT / frames), 0.0));
}
