// One thread per pixel.
@compute @workgroup_size(GROUP * GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = group.x * GROUP + lane % GROUP;
    let y = group.y * GROUP + lane / GROUP;
    if x < p.width && y < p.height {
        pixel(x, y, y * p.width + x);
    }
}

// Offset of a patch's pixel from its centre.
fn offset(a: u32) -> vec2<i32> {
    return vec2(i32(a % SIDE), i32(a / SIDE)) - RADIUS;
}
