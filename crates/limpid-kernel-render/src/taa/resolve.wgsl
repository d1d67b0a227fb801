@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let size = vec2<i32>(vec2<u32>(p.width, p.height));
    let here = vec2<i32>(group.xy * vec2<u32>(32u, 8u) + vec2<u32>(lane % 32u, lane / 32u));
    // Threads outside follow the last pixel up to the barrier.
    let at = min(here.y, size.y - 1) * size.x + min(here.x, size.x - 1);
    let place = clamp(vec2<f32>(here) + moved(here, at, size), vec2<f32>(-2.0), vec2<f32>(size) + 1.0);
    // History is requested before the tile is filled, because it has the longest latency.
    let h = history_around(place, size);
    fill(group.xy, lane, size);
    if any(here >= size) {
        return;
    }
    var made: vec3<f32>;
    var kept: vec3<f32>;
    if h.a > 1e-3 {
        let s = statistics(here, at);
        let away = h.rgb / h.a - s.mean;
        let least = NARROWEST * abs(s.mean.x) + 1e-8;
        let half = p.gamma * s.deviation;
        let over = abs(away) / max(half, vec3<f32>(least, vec2<f32>(max(least, CHROMA * half.x))));
        let ratio = max(1.0, max(over.x, max(over.y, over.z)));
        let clipped = s.mean + away / ratio;
        let most = max(abs(away.x), max(abs(away.y), abs(away.z)));
        let noticed = NOTICED * abs(s.mean.x) / max(most, 1e-30);
        let counts = select(1.0, min(max(1.0 / ratio, noticed), 1.0), DISCOUNT);
        kept = clipped + (1.0 - (1.0 - p.blend) * counts) * (seen(here).xyz - clipped);
        // Splines may undershoot.
        made = max(back(kept), min(color_at(at), vec3<f32>(0.0)));
    } else {
        made = alone(here, size);
        kept = convert(made);
    }
    put(at, made);
    keep(at, kept);
}
