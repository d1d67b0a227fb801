@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = group.x * 32u + lane % 32u;
    let y = group.y * 8u + lane / 32u;
    if x >= p.width || y >= p.height {
        return;
    }
    let n = p.width * p.height;
    let i = y * p.width + x;
    let v = src[p.plane * n + i] * divisor_at(i) * p.factor;
    for (var c = 0u; c < CHANNELS; c++) {
        dst[c * n + i] = v[c];
    }
}
