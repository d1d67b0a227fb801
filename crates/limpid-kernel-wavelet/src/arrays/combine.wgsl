@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let i = (group.y * COLUMNS + group.x) * 256u + thread;
    if i < p.count {
        dst[p.to + i] = p.a_by * a[p.a_at + i] + p.b_by * b[p.b_at + i];
    }
}
