@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = group.x * 32u + lane % 32u;
    let y = group.y * 8u + lane / 32u;
    let size = textureDimensions(dst);
    if x >= size.x || y >= size.y {
        return;
    }
    var value = vec4<f32>(0.0);
    // Positions before the margin wrap around, and are not inside either.
    let sx = x - p.margin;
    let sy = y - p.margin;
    if sx < p.width && sy < p.height {
        value = texel(sy * p.width + sx, p.width * p.height);
    }
    textureStore(dst, vec2<u32>(x, y), value);
}
