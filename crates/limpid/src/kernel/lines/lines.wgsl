@group(0) @binding(1) var<storage, read> src: array<f32>;
@group(0) @binding(2) var<storage, read> table: array<u32>;
@group(0) @binding(3) var<storage, read_write> dst: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let x = group.x * 32u + thread % 32u;
    let y = group.y * 8u + thread / 32u;
    if x >= p.width || y >= p.height {
        return;
    }
    let start = group.z * p.src_height;
    let line = select(x, y, DOWN) * 2u * p.terms;
    var sum = 0.0;
    for (var i = 0u; i < p.terms; i++) {
        let at = table[line + 2u * i];
        let weight = bitcast<f32>(table[line + 2u * i + 1u]);
        let sx = p.from_x + select(at, x, DOWN);
        let sy = p.from_y + select(y, at, DOWN);
        sum += weight * src[(start + sy) * p.src_width + sx];
    }
    let to = (group.z * p.dst_height + p.to_y + y) * p.dst_width + p.to_x + x;
    if ADD {
        dst[to] += sum;
    } else {
        dst[to] = sum;
    }
}
