// Changes of light: the mean luminance around a pixel beside that of the history around its previous place.

// Means over a window, from those along its rows.
fn around(q: vec2<u32>) -> vec4<f32> {
    var sums = vec4(0.0);
    let first = max(q.y, AROUND) - AROUND;
    let last = min(q.y + AROUND, p.height - 1u);
    for (var y = first; y <= last; y++) {
        sums += across[y * p.width + q.x];
    }
    return sums / f32(last + 1u - first);
}

// The share of the history that counts: 1 if the light around the pixel and around its previous place differs by no more than noise.
fn pixel(x: u32, y: u32) {
    let q = vec2(x, y);
    let place = vec2<f32>(q) + motion_at(q).xy;
    let far = vec2(f32(p.width), f32(p.height)) - 1.0;
    // Motion may be anything, even no number.
    let then = vec2<u32>(clamp(floor(place + 0.5), vec2(0.0), far));
    let now = around(q).xy;
    let old = around(min(then, vec2(p.width, p.height) - 1u)).zw;
    let spread = max(max(now.y - now.x * now.x, old.y), 0.0);
    let bound = CHANGE * sqrt(spread / AROUND_PIXELS) + CHANGE_LEAST * abs(old.x);
    let share = clamp(2.0 - abs(now.x - old.x) / max(bound, 1e-20), 0.0, 1.0);
    put_variance(y * p.width + x, share);
}
