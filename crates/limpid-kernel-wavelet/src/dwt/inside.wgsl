// Far from the borders nothing is mirrored and everything is stored: most regions.
fn is_inside(origin: vec2<i32>) -> bool {
    return all(origin >= vec2<i32>(0)) && all(2 * (origin + REGION) <= vec2<i32>(vec2<u32>(p.width, p.height)));
}
