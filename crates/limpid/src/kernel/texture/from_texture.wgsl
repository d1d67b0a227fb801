@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = group.x * 32u + lane % 32u;
    let y = group.y * 8u + lane / 32u;
    if x >= p.width || y >= p.height {
        return;
    }
    let texel = textureLoad(src, vec2<u32>(x, y), 0);
    for (var plane = 0u; plane < PLANES; plane++) {
        dst[(plane * p.height + y) * p.width + x] = texel[plane];
    }
}
