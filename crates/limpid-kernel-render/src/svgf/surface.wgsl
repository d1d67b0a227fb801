// The features of a pixel, and their 16-byte form: the normal with 16 bits per channel, the gradient in half floats, the object
// in 16 bits, depth.

struct Surface {
    n: vec3<f32>,
    z: f32,
    g: vec2<f32>,
    o: u32,
}

fn packed(s: Surface) -> vec4<u32> {
    let steep = clamp(s.g, vec2(-65504.0), vec2(65504.0));
    let mixed = (pack2x16snorm(vec2(s.n.z, 0.0)) & 0xffffu) | (pack2x16float(vec2(0.0, steep.x)) & 0xffff0000u);
    let last = (pack2x16float(vec2(steep.y, 0.0)) & 0xffffu) | (s.o << 16u);
    return vec4(pack2x16snorm(s.n.xy), mixed, last, bitcast<u32>(s.z));
}

fn unpacked(v: vec4<u32>) -> Surface {
    return Surface(
        vec3(unpack2x16snorm(v.x), unpack2x16snorm(v.y).x),
        bitcast<f32>(v.w),
        vec2(unpack2x16float(v.y).y, unpack2x16float(v.z).x),
        v.z >> 16u,
    );
}
