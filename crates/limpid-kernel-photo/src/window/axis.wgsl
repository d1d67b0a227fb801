// One axis from buffers, a plane per layer of the grid.
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let px = i32(group.x * 32u + lane % 32u);
    let py = i32(group.y * 8u + lane / 32u);
    if px >= i32(p.width) || py >= i32(p.height) {
        return;
    }
    let at = i32(group.z * p.width * p.height) + py * i32(p.width) + px;
    let here = select(px, py, VERTICAL);
    let count = select(i32(p.width), i32(p.height), VERTICAL);
    let stride = select(1, i32(p.width), VERTICAL);
    var sum = 0.0;
    if here >= R && here + R < count {
        sum = window(at, stride);
    } else {
        for (var i = max(-R, -here); i <= min(R, count - 1 - here); i++) {
            sum += side(i) * src[at + i * stride];
        }
    }
    dst[at] = sum / weights(here, count);
}
