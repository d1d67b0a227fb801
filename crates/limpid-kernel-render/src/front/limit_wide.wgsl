// Taps `p.step` pixels apart, from global memory.

var<private> centre: vec2<i32>;

fn tap_at(dx: i32, dy: i32) -> u32 {
    return key_at(centre + vec2(dx, dy) * p.step);
}

@compute @workgroup_size(SIDE * SIDE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let at = group.xy * SIDE + vec2(lane % SIDE, lane / SIDE);
    if at.x >= p.width || at.y >= p.height {
        return;
    }
    centre = vec2<i32>(at);
    let i = at.y * p.width + at.x;
    let needed = need(i);
    var alike = 0;
    for (var dy = -R; dy <= R; dy++) {
        for (var dx = -R; dx <= R; dx++) {
            if BY_OTHER || dx != 0 || dy != 0 {
                alike += allows(tap_at(dx, dy), needed);
            }
        }
    }
    limit(i, alike);
}
