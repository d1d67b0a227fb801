@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = vec2<u32>(group.x * 16u + thread % 16u, group.y * 16u + thread / 16u);
    if at.x >= p.width || at.y >= p.height {
        return;
    }
    let row = group.z * p.height;
    let v = p.number * src[(row + (at.y + p.dy) % p.height) * p.width + (at.x + p.dx) % p.width];
    let index = (row + at.y) * p.width + at.x;
    if ADD {
        dst[index] += v;
    } else {
        dst[index] = v;
    }
}
