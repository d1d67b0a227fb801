// Each thread walks the whole window of its pixel.

@group(0) @binding(1) var<storage, read> src: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;

@compute @workgroup_size(SIDE * SIDE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = i32(group.x * SIDE + lane % SIDE);
    let y = i32(group.y * SIDE + lane / SIDE);
    if x >= i32(p.width) || y >= i32(p.height) {
        return;
    }
    let base = i32(group.z * p.width * p.height);
    var sum = 0.0;
    var weights = 0.0;
    for (var j = max(y - R, 0); j <= min(y + R, i32(p.height) - 1); j++) {
        for (var i = max(x - R, 0); i <= min(x + R, i32(p.width) - 1); i++) {
            let d2 = (i - x) * (i - x) + (j - y) * (j - y);
            let w = fast_exp(f32(d2) * p.scale);
            sum += w * src[base + j * i32(p.width) + i];
            weights += w;
        }
    }
    dst[base + y * i32(p.width) + x] = sum / weights;
}
