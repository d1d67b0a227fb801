@group(0) @binding(1) var<storage, read> src: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;
var<workgroup> sums: array<f32, 256>;

fn coefficient(box: vec4<u32>, plane: u32, i: u32) -> f32 {
    let width = box.z - box.x;
    return src[(plane * p.height + box.y + i / width) * p.width + box.x + i % width];
}

// The sum over all threads.
fn total(thread: u32, value: f32) -> f32 {
    sums[thread] = value;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if thread < half {
            sums[thread] += sums[thread + half];
        }
        workgroupBarrier();
    }
    let sum = sums[0];
    workgroupBarrier();
    return sum;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let box = area[group.x];
    let count = (box.z - box.x) * (box.w - box.y);
    let found = find(box, group.y, count, thread, deviation[group.x]);
    if thread == 0u {
        dst[group.y * BANDS + group.x] = found;
    }
}

