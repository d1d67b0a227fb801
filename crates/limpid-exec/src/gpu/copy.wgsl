@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.y * 256u + group.x) * 256u + lane;
    if i < arrayLength(&src) {
        dst[i] = src[i];
    }
}
