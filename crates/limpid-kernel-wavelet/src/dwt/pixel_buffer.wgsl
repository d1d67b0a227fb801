fn pixel(x: i32, y: i32, plane: u32) -> f32 {
    return src[(plane * p.height + u32(y)) * p.width + u32(x)];
}
