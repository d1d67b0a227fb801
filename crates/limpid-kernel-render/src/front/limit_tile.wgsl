// Taps in workgroup memory. A thread computes two vertically adjacent pixels, which share most of them.

const WIDE: i32 = i32(SIDE);
const SPAN_X: i32 = WIDE + 2 * R;
const SPAN_Y: i32 = 2 * WIDE + 2 * R;
var<workgroup> keys: array<u32, SPAN_X * SPAN_Y>;
var<private> centre: i32;

fn tap_at(dx: i32, dy: i32) -> u32 {
    return keys[centre + dy * SPAN_X + dx];
}

@compute @workgroup_size(SIDE * SIDE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = vec2<i32>(group.xy * vec2(SIDE, 2u * SIDE));
    for (var k = i32(lane); k < SPAN_X * SPAN_Y; k += WIDE * WIDE) {
        keys[k] = key_at(first + vec2(k % SPAN_X, k / SPAN_X) - R);
    }
    workgroupBarrier();
    let inside = vec2(i32(lane) % WIDE, i32(lane) / WIDE * 2);
    let at = vec2<u32>(first + inside);
    if at.x >= p.width || at.y >= p.height {
        return;
    }
    let upper = at.y * p.width + at.x;
    let lower = min(at.y + 1u, p.height - 1u) * p.width + at.x;
    let needs = array<Need, 2>(need(upper), need(lower));
    centre = (inside.y + R) * SPAN_X + inside.x + R;
    var alike = vec2(0);
    for (var dy = -R; dy <= R + 1; dy++) {
        for (var dx = -R; dx <= R; dx++) {
            let tap = tap_at(dx, dy);
            if dy <= R && (BY_OTHER || dx != 0 || dy != 0) {
                alike.x += allows(tap, needs[0]);
            }
            if dy > -R && (BY_OTHER || dx != 0 || dy != 1) {
                alike.y += allows(tap, needs[1]);
            }
        }
    }
    limit(upper, alike.x);
    if at.y + 1u < p.height {
        centre += SPAN_X;
        limit(lower, alike.y);
    }
}
