// Luminance, smoothed, in whole numbers.

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = i32(group.x * 32u + lane % 32u);
    let y = i32(group.y * 8u + lane / 32u);
    let last = vec2(i32(p.width), i32(p.height)) - 1;
    if x > last.x || y > last.y || frames() != runs() {
        return;
    }
    var sum = 0.0;
    for (var dy = -1; dy < 2; dy++) {
        for (var dx = -1; dx < 2; dx++) {
            let q = clamp(vec2(x + dx, y + dy), vec2(0), last);
            sum += read0[q.y * i32(p.width) + q.x];
        }
    }
    let value = clamp(round(sum / 9.0 * p.number), 0.0, MOST);
    write0[place(runs() - 1) * p.width * p.height + u32(y) * p.width + u32(x)] = value;
}
