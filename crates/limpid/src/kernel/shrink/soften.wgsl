@group(0) @binding(1) var<storage, read> src: array<f32>;
@group(0) @binding(2) var<storage, read> thresholds: array<f32>;
@group(0) @binding(3) var<storage, read_write> dst: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = vec2<u32>(group.x * 16u + thread % 16u, group.y * 16u + thread / 16u);
    if at.x >= p.width || at.y >= p.height {
        return;
    }
    var t = 0.0;
    for (var i = 0u; i < BANDS; i++) {
        let box = area[i];
        if all(at >= box.xy) && all(at < box.zw) {
            t = thresholds[group.z * BANDS + i];
        }
    }
    let index = (group.z * p.height + at.y) * p.width + at.x;
    let v = src[index];
    dst[index] = sign(v) * max(abs(v) - t, 0.0);
}
