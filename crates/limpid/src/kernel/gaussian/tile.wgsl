// A workgroup loads its pixels and their halo once, then each thread walks its window in workgroup memory.

@group(0) @binding(1) var<storage, read> src: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;

const HALO: u32 = u32(R);
const SPAN: u32 = SIDE + 2u * HALO;
var<workgroup> tile: array<f32, SPAN * SPAN>;

@compute @workgroup_size(SIDE * SIDE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let base = i32(group.z * p.width * p.height);
    let left = i32(group.x * SIDE) - R;
    let top = i32(group.y * SIDE) - R;
    for (var i = lane; i < SPAN * SPAN; i += SIDE * SIDE) {
        let x = left + i32(i % SPAN);
        let y = top + i32(i / SPAN);
        // Pixels outside are loaded from the border and never used.
        let cx = clamp(x, 0, i32(p.width) - 1);
        let cy = clamp(y, 0, i32(p.height) - 1);
        tile[i] = src[base + cy * i32(p.width) + cx];
    }
    workgroupBarrier();
    let x = left + R + i32(lane % SIDE);
    let y = top + R + i32(lane / SIDE);
    if x >= i32(p.width) || y >= i32(p.height) {
        return;
    }
    var sum = 0.0;
    var weights = 0.0;
    for (var j = max(-R, -y); j <= min(R, i32(p.height) - 1 - y); j++) {
        for (var i = max(-R, -x); i <= min(R, i32(p.width) - 1 - x); i++) {
            let w = fast_exp(f32(i * i + j * j) * p.scale);
            sum += w * tile[(y + j - top) * i32(SPAN) + x + i - left];
            weights += w;
        }
    }
    dst[base + y * i32(p.width) + x] = sum / weights;
}
