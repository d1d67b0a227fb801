fn pixel(x: i32, y: i32, plane: u32) -> f32 {
    return textureLoad(src, vec2<i32>(x, y), 0)[plane];
}
