// A sum of a band.
fn total(first: u32, s: u32) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < PARTS; i++) {
        sum += sums[(first + s) * PARTS + i];
    }
    return sum;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    if thread == 0u {
        let box = area(group.x);
        let count = (box.z - box.x) * (box.w - box.y);
        let band = group.y * BANDS + group.x;
        dst[band] = found(band * SUMS, f32(max(count, 1u)), param(band));
    }
}
