// All taps from a tile of 16×16 texels with its halo in workgroup memory.
const SPAN: i32 = 16 + 2 * R;

var<workgroup> tile: array<vec4<f32>, SPAN * SPAN>;

fn held(x: i32, y: i32) -> vec4<f32> {
    return tile[y * SPAN + x];
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let left = i32(group.x * 16u) - R;
    let top = i32(group.y * 16u) - R;
    for (var k = i32(lane); k < SPAN * SPAN; k += 256) {
        tile[k] = texel(left + k % SPAN, top + k / SPAN);
    }
    workgroupBarrier();
    let x = i32(lane % 16u) + R;
    let y = i32(lane / 16u) + R;
    if left + x < i32(p.width) && top + y < i32(p.height) {
        store(left + x, top + y, finished(sums(x, y)));
    }
}
