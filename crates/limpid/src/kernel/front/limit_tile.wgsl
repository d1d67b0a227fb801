// Taps in workgroup memory.

const SPAN: i32 = i32(SIDE) + 2 * R;
var<workgroup> keys: array<u32, SPAN * SPAN>;
var<private> centre: i32;

fn tap_at(dx: i32, dy: i32) -> u32 {
    return keys[centre + dy * SPAN + dx];
}

fn prepare(group: vec2<u32>, lane: u32) {
    for (var k = i32(lane); k < SPAN * SPAN; k += i32(SIDE * SIDE)) {
        keys[k] = key_at(vec2<i32>(group * SIDE) + vec2(k % SPAN, k / SPAN) - R);
    }
    workgroupBarrier();
    centre = i32(lane / SIDE) * SPAN + i32(lane % SIDE) + R * SPAN + R;
}
