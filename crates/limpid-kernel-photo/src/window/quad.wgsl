// Quads of lanes share their sums.
var<private> own: u32;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    own = lane;
    let quad = lane / 4u;
    let x = i32(group.x * 32u + 2u * (quad % 16u) + lane % 2u);
    let y = i32(group.y * 8u + 2u * (quad / 16u) + lane / 2u % 2u);
    let made = finished(sums(x, y));
    if x < i32(p.width) && y < i32(p.height) {
        store(x, y, made);
    }
}
