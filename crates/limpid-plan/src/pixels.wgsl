// Calls `pixel` for each pixel, one thread each, in workgroups of 32×8.
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = group.x * 32u + lane % 32u;
    let y = group.y * 8u + lane / 32u;
    if x < p.width && y < p.height {
        pixel(x, y);
    }
}
