// Light and moments, blended with history.

fn alike(a: Surface, b: Surface) -> bool {
    let near = abs(a.z - b.z) <= DEPTH_CHANGE * abs(a.z) + 2.0 * (abs(a.g.x) + abs(a.g.y));
    return near && (all(a.n == b.n) || dot(a.n, b.n) >= NORMAL_CHANGE);
}

fn blend(q: vec2<u32>, own: Surface, id: f32, now: Seen) -> Seen {
    let far = vec2(f32(p.width), f32(p.height)) + 1.0;
    let place = clamp(vec2<f32>(q) + motion_at(q).xy, vec2(-2.0), far);
    var color = vec3(0.0);
    var past = vec3(0.0);
    var weights = 0.0;
    for (var k = 0; k < 4; k++) {
        let at = floor(place) + vec2(f32(k % 2), f32(k / 2));
        if any(at < vec2(0.0)) || at.x >= f32(p.width) || at.y >= f32(p.height) {
            continue;
        }
        // Motion may be anything, even no number.
        let t = min(vec2<u32>(at), vec2(p.width, p.height) - 1u);
        let j = t.y * p.width + t.x;
        let m = old_moments[j];
        if m.z <= 0.0 || m.w != id || !alike(own, unpacked(old_features[j])) {
            continue;
        }
        let w = (1.0 - abs(place.x - at.x)) * (1.0 - abs(place.y - at.y));
        let there = phase_place(p.height, t.y, LEVEL) * p.width + phase_place(p.width, t.x, LEVEL);
        if LIGHTS {
            taps_at[k] = there;
            taps_weight[k] = w;
        }
        color += w * four(old_color[there]).xyz;
        past += w * m.xyz;
        weights += w;
    }
    if weights <= TAPS_LEAST {
        return now;
    }
    color /= weights;
    past /= weights;
    let still = variance_at(q.y * p.width + q.x);
    let frames = min(past.z * still + 1.0, MOST_FRAMES);
    // Reflections and refractions do not move with their mirrors and glass.
    let mirror = MIRRORS && own.z < 0.0;
    let least = select(ALPHA, max(ALPHA, MIRROR_ALPHA), mirror);
    let alpha = max(1.0 - (1.0 - least) * still, 1.0 / frames);
    if LIGHTS {
        taps_weight /= weights;
        taps_alpha = alpha;
    }
    let m = past.xy + alpha * (now.m.xy - past.xy);
    let noise = select(1.0, MIRROR_VARIANCE, mirror);
    let variance = max(noise * (m.y - m.x * m.x) / min(frames, DEEPEST), 0.0);
    return Seen(vec4(color + alpha * (now.c.xyz - color), variance), vec3(m, frames));
}
