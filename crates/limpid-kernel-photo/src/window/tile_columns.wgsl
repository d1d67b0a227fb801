// Along columns from workgroup memory: 32×32 pixels, for coalesced reads along rows.
var<workgroup> tile: array<f32, 32 * (32 + 2 * R)>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let base = i32(group.z * p.width * p.height);
    let top = i32(group.y * 32u) - R;
    let column = i32(lane % 32u);
    let px = i32(group.x * 32u) + column;
    let cx = min(px, i32(p.width) - 1);
    for (var k = i32(lane / 32u); k < 32 + 2 * R; k += 4) {
        let y = top + k;
        let cy = clamp(y, 0, i32(p.height) - 1);
        tile[k * 32 + column] = select(0.0, src[base + cy * i32(p.width) + cx], y == cy);
    }
    workgroupBarrier();
    for (var k = i32(lane / 32u); k < 32; k += 4) {
        let py = top + R + k;
        if px < i32(p.width) && py < i32(p.height) {
            let sum = window((k + R) * 32 + column, 32);
            dst[base + py * i32(p.width) + px] = sum / weights(py, i32(p.height));
        }
    }
}
