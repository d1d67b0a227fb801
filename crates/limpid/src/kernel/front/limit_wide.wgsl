// Taps `p.step` pixels apart, from memory.

var<private> centre: vec2<i32>;

fn tap_at(dx: i32, dy: i32) -> u32 {
    return key_at(centre + vec2(dx, dy) * p.step);
}

fn prepare(group: vec2<u32>, lane: u32) {
    centre = vec2<i32>(group * SIDE + vec2(lane % SIDE, lane / SIDE));
}
