@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let q = vec2<u32>(group.x * 16u + thread % 16u, group.y * 16u + thread / 16u);
    if all(q < textureDimensions(quads)) {
        textureStore(quads, q, load(vec2<i32>(q) - MARGIN, PLANE));
    }
}
