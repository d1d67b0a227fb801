// One thread per pixel, and some beyond the image.
@compute @workgroup_size(SIDE * SIDE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    pixel(group.x * SIDE + lane % SIDE, group.y * SIDE + lane / SIDE);
}
