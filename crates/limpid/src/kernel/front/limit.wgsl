// A pixel, limited by what is around it. A tap is a brightness whose two lowest bits are a class, or 3 outside the picture.

fn key_at(q: vec2<i32>) -> u32 {
    if any(q < vec2(0)) || q.x >= i32(p.width) || q.y >= i32(p.height) {
        return 3u;
    }
    let j = q.y * i32(p.width) + q.x;
    return (bitcast<u32>(max(limiting[j], 0.0)) & ~3u) | u32(classes[j]);
}

// Whether enough taps of the class are nearly as bright: then the limit need not be looked up.
fn usual(own: u32, bright: f32) -> bool {
    var count = 0;
    for (var dy = -R; dy <= R; dy++) {
        for (var dx = -R; dx <= R; dx++) {
            if !BY_OTHER && dx == 0 && dy == 0 {
                continue;
            }
            let tap = tap_at(dx, dy);
            let allowed = p.factor * bitcast<f32>(tap & ~3u) + p.floor;
            count += i32((tap & 3u) == own && allowed >= bright);
        }
    }
    return count >= RANK;
}

fn limit_at(own: u32, other: f32) -> f32 {
    var top: array<f32, RANK>;
    for (var k = 0; k < RANK; k++) {
        top[k] = -1.0;
    }
    for (var dy = -R; dy <= R; dy++) {
        for (var dx = -R; dx <= R; dx++) {
            if !BY_OTHER && dx == 0 && dy == 0 {
                continue;
            }
            let tap = tap_at(dx, dy);
            var v = select(-1.0, bitcast<f32>(tap & ~3u), (tap & 3u) == own);
            for (var k = 0; k < RANK; k++) {
                let t = top[k];
                top[k] = max(t, v);
                v = min(t, v);
            }
        }
    }
    if BY_OTHER {
        return max(p.factor * top[RANK - 1], other) + p.floor;
    }
    let brightest = select(3.0e38, p.factor * top[0] + p.floor, top[0] >= 0.0);
    return select(brightest, p.factor * top[RANK - 1] + p.floor, top[RANK - 1] >= 0.0);
}

fn limit(i: u32) {
    let own = u32(classes[i]);
    let bright = brightness[i];
    let other = limiting[i];
    var scale = 1.0;
    if !(usual(own, bright) || (BY_OTHER && bright <= other + p.floor)) {
        let limit = limit_at(own, other);
        scale = select(1.0, limit / bright, bright > limit);
    }
    let pixels = p.width * p.height;
    for (var c = 0u; c < p.planes; c++) {
        limited[c * pixels + i] = picture[c * pixels + i] * scale;
    }
    keep(i, bright * scale);
}

@compute @workgroup_size(SIDE * SIDE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    prepare(group.xy, lane);
    let at = group.xy * SIDE + vec2(lane % SIDE, lane / SIDE);
    if at.x < p.width && at.y < p.height {
        limit(at.y * p.width + at.x);
    }
}
