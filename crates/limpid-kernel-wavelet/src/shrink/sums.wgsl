var<workgroup> parts: array<f32, 256>;

// The sum over all threads, for thread 0.
fn total(thread: u32, value: f32) -> f32 {
    workgroupBarrier();
    parts[thread] = value;
    for (var half = 128u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if thread < half {
            parts[thread] += parts[thread + half];
        }
    }
    return parts[0];
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let box = area(group.y);
    let sigma = param(group.z * BANDS + group.y);
    let width = box.z - box.x;
    let count = width * (box.w - box.y);
    for (var s = 0u; s < SUMS; s++) {
        let t = f32(s) / 8.0 * sigma;
        var sum = 0.0;
        for (var i = group.x * 256u + thread; i < count; i += 256u * PARTS) {
            let v = src[(group.z * p.height + box.y + i / width) * p.width + box.x + i % width];
            sum += value(v, t, sigma);
        }
        let all = total(thread, sum);
        if thread == 0u {
            dst[((group.z * BANDS + group.y) * SUMS + s) * PARTS + group.x] = all;
        }
    }
}
