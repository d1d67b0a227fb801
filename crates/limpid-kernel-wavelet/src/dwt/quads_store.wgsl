@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = vec2<u32>(group.x * 16u + thread % 16u, group.y * 16u + thread / 16u);
    let q = vec2<i32>(at) - MARGIN;
    if all(q >= vec2<i32>(0)) && all(vec2<u32>(q) < vec2<u32>(p.low_width, p.low_height)) {
        store(q, PLANE, textureLoad(quads, at, 0));
    }
}
