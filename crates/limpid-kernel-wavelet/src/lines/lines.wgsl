@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let x = group.x * 32u + thread % 32u;
    let y = group.y * 8u + thread / 32u;
    if x >= p.width || y >= p.height {
        return;
    }
    let channel = group.z / p.frames;
    let frame = group.z % p.frames;
    var at = vec3<u32>(x, y, frame);
    let line = at[AXIS] * 2u * p.terms;
    // No index of the table leads out of the line.
    let last = vec3<u32>(p.src_width - p.from_x, p.src_height - p.from_y, p.src_frames)[AXIS] - 1u;
    var sum = 0.0;
    for (var i = 0u; i < p.terms; i++) {
        at[AXIS] = min(table[line + 2u * i], last);
        let weight = bitcast<f32>(table[line + 2u * i + 1u]);
        let row = (channel * p.src_frames + at.z) * p.src_height + p.from_y + at.y;
        sum += weight * src[row * p.src_width + p.from_x + at.x];
    }
    let row = (channel * p.dst_frames + p.to_frame + frame) * p.dst_height + p.to_y + y;
    let to = row * p.dst_width + p.to_x + x;
    if ADD {
        dst[to] += sum;
    } else {
        dst[to] = sum;
    }
}
