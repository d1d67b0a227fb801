// The colour in the blending space and a one, at a pixel; zeros outside. For windows that are too wide for a tile.

fn seen(q: vec2<i32>) -> vec4<f32> {
    if any(q < vec2<i32>(0)) || q.x >= i32(p.width) || q.y >= i32(p.height) {
        return vec4<f32>(0.0);
    }
    return vec4<f32>(convert(color_at(q.y * i32(p.width) + q.x)), 1.0);
}

fn fill(group: vec2<u32>, lane: u32, size: vec2<i32>) {}
