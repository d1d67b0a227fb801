// Along rows from workgroup memory: 128 pixels of a row, a plane per layer of the grid.
var<workgroup> tile: array<f32, 128 + 2 * R>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let left = i32(group.x * 128u) - R;
    let row = i32(group.z * p.width * p.height) + i32(group.y) * i32(p.width);
    for (var k = i32(lane); k < 128 + 2 * R; k += 128) {
        let x = left + k;
        let cx = clamp(x, 0, i32(p.width) - 1);
        tile[k] = select(0.0, src[row + cx], x == cx);
    }
    workgroupBarrier();
    let px = left + R + i32(lane);
    if px < i32(p.width) {
        dst[row + px] = window(i32(lane) + R, 1) / weights(px, i32(p.width));
    }
}
