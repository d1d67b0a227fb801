// A frame goes to its place in the ring.

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = group.x * 32u + lane % 32u;
    let y = group.y * 8u + lane / 32u;
    if x >= p.width || y >= p.height || frames() != runs() {
        return;
    }
    let pixels = p.width * p.height;
    let at = y * p.width + x;
    let first = place(runs() - 1) * p.planes * pixels + at;
    for (var c = 0u; c < p.planes; c++) {
        write0[first + c * pixels] = read0[at + c * pixels];
    }
}
