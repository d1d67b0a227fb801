// Both axes in one pass: 32×32 pixels with their halo in workgroup memory, a plane per layer of the grid.
const SPAN: i32 = 32 + 2 * R;

var<workgroup> tile: array<f32, SPAN * SPAN>;
var<workgroup> rows: array<f32, 32 * SPAN>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let size = vec2<i32>(vec2(p.width, p.height));
    let base = i32(group.z) * size.x * size.y;
    let first = vec2<i32>(group.xy * 32u) - R;
    for (var k = i32(lane); k < SPAN * SPAN; k += 256) {
        let at = first + vec2(k % SPAN, k / SPAN);
        let near = clamp(at, vec2(0), size - 1);
        tile[k] = select(0.0, src[base + near.y * size.x + near.x], all(at == near));
    }
    workgroupBarrier();
    for (var k = i32(lane); k < 32 * SPAN; k += 256) {
        rows[k] = along(k / 32 * SPAN + k % 32 + R);
    }
    workgroupBarrier();
    let column = i32(lane % 32u);
    let px = first.x + R + column;
    for (var k = i32(lane / 32u); k < 32; k += 8) {
        let py = first.y + R + k;
        if px < size.x && py < size.y {
            let sum = down((k + R) * 32 + column);
            let weight = weights(px, size.x) * weights(py, size.y);
            store(base + py * size.x + px, size.x * size.y, sum / weight);
        }
    }
}
