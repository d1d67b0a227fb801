// Each thread computes one pixel and reads its taps from global memory.

@compute @workgroup_size(WIDTH * HEIGHT)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let part = part_of(group);
    let at = part.tile * vec2(WIDTH, HEIGHT) + vec2(lane % WIDTH, lane / WIDTH);
    if any(at >= part.len) {
        return;
    }
    let here = index_of(part, at);
    var centre = fetch(here);
    guide(part, at, &centre);
    var sums: Sums;
    var near: Sums;
    for (var j = -R; j <= R; j++) {
        let y = i32(at.y) + j * spacing();
        if y < 0 || y >= i32(part.len.y) || y % GRID != 0 {
            continue;
        }
        for (var i = -R; i <= R; i++) {
            let x = i32(at.x) + i * spacing();
            if x < 0 || x >= i32(part.len.x) || x % GRID != 0 {
                continue;
            }
            let there = index_of(part, vec2<u32>(vec2(x, y)));
            let tap = fetch(there);
            let h = log_tap(i) + log_tap(j);
            let d = vec2(f32(i), f32(j));
            let e = select(exponent(centre, tap, h, d), h, i == 0 && j == 0);
            let w = exp2(e) * factor(there);
            add(&sums, tap, there, w);
            if GRID > 1 {
                add_near(&near, tap, there, exp2(h));
            }
        }
    }
    let to = place_of(part, at);
    finish(to, here, sums, near);
    carry_from(here, to);
}
