// Texels with a margin.
@group(0) @binding(1) var src: texture_2d<f32>;

fn texel(x: i32, y: i32) -> vec4<f32> {
    return textureLoad(src, vec2<i32>(x + R, y + R), 0);
}
