var<workgroup> sums: array<f32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    var sum = 0.0;
    // What rounding takes away is added again: an array has many numbers.
    var lost = 0.0;
    for (var i = group.x * 256u + thread; i < p.count; i += 256u * p.parts) {
        let v = src[i];
        let more = select(v, v * v, SQUARES) - lost;
        let next = sum + more;
        lost = (next - sum) - more;
        sum = next;
    }
    sums[thread] = sum;
    for (var half = 128u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if thread < half {
            sums[thread] += sums[thread + half];
        }
    }
    if thread == 0u {
        dst[group.x] = sums[0];
    }
}
