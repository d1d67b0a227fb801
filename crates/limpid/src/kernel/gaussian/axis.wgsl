// Each thread walks one axis of its pixel's window.

@group(0) @binding(1) var<storage, read> src: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;

@compute @workgroup_size(SIDE * SIDE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = i32(group.x * SIDE + lane % SIDE);
    let y = i32(group.y * SIDE + lane / SIDE);
    if x >= i32(p.width) || y >= i32(p.height) {
        return;
    }
    let at = i32(group.z * p.width * p.height) + y * i32(p.width) + x;
    let here = select(x, y, VERTICAL);
    let last = select(i32(p.width), i32(p.height), VERTICAL) - 1;
    let stride = select(1, i32(p.width), VERTICAL);
    var sum = 0.0;
    var weights = 0.0;
    for (var i = max(-R, -here); i <= min(R, last - here); i++) {
        let w = fast_exp(f32(i * i) * p.scale);
        sum += w * src[at + i * stride];
        weights += w;
    }
    dst[at] = sum / weights;
}
