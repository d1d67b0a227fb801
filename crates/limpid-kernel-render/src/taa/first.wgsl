@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let size = vec2<i32>(vec2<u32>(p.width, p.height));
    let here = vec2<i32>(group.xy * vec2<u32>(32u, 8u) + vec2<u32>(lane % 32u, lane / 32u));
    if all(here < size) {
        put(here.y * size.x + here.x, alone(here, size));
    }
}
