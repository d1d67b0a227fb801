// A pixel, clamped by its surroundings. A tap is 30 bits of a brightness, which sort like it, below two bits of a class, or of
// 3 outside the image.

const VALUES: u32 = 0x40000000u;

fn sorted(bright: f32) -> u32 {
    return bitcast<u32>(max(bright, 0.0)) >> 1u;
}

fn key_at(q: vec2<i32>) -> u32 {
    if any(q < vec2(0)) || q.x >= i32(p.width) || q.y >= i32(p.height) {
        return 3u * VALUES;
    }
    let j = q.y * i32(p.width) + q.x;
    return sorted(limiting[j]) + VALUES * u32(classes[j]);
}

// The requirement for a tap to support a pixel: of its class, and of at least this brightness.
struct Need {
    own: u32,
    least: u32,
}

fn need(i: u32) -> Need {
    return Need(VALUES * u32(classes[i]), sorted((brightness[i] - p.floor) / p.factor));
}

fn allows(tap: u32, need: Need) -> i32 {
    // Taps of other classes differ by at least `VALUES`.
    return i32((tap ^ need.own) - need.least < VALUES - need.least);
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
            let tap = tap_at(dx, dy) ^ own;
            var v = select(-1.0, bitcast<f32>(tap << 1u), tap < VALUES);
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

// Clamps a pixel, given the number of taps that are nearly as bright: if they are enough, the limit is not computed.
fn limit(i: u32, alike: i32) {
    let bright = brightness[i];
    let other = limiting[i];
    var scale = 1.0;
    if !(alike >= RANK || (BY_OTHER && bright <= other + p.floor)) {
        let limit = limit_at(VALUES * u32(classes[i]), other);
        scale = select(1.0, limit / bright, bright > limit);
    }
    let pixels = p.width * p.height;
    for (var c = 0u; c < p.planes; c++) {
        limited[c * pixels + i] = picture[c * pixels + i] * scale;
    }
    keep(i, bright * scale);
}
