// The cell of a sample of a quad that may be beyond the border.
fn place(r: vec2<i32>, origin: vec2<i32>, sample: vec2<i32>) -> i32 {
    let at = 2 * (origin + r) + sample;
    let m = vec2<i32>(mirror(at.x, p.width), mirror(at.y, p.height)) / 2 - origin;
    return clamp(m.y * REGION.x + m.x, 0, REGION.x * REGION.y - 1);
}
