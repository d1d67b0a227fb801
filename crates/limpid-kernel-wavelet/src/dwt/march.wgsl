// The first quad that a subgroup stores.
fn first_quad(group: vec2<u32>, part: u32) -> vec2<i32> {
    let height = i32(p.rounds) * ROWS - (ABOVE + BELOW);
    return vec2<i32>(i32(group.x) * TILE, i32(group.y * PARTS + part) * height);
}

// Far from the borders nothing is mirrored and everything is stored: most regions.
fn is_inside(origin: vec2<i32>) -> bool {
    let end = origin + vec2<i32>(WIDTH, i32(p.rounds) * ROWS);
    return all(origin >= vec2<i32>(0)) && all(2 * end <= vec2<i32>(vec2<u32>(p.width, p.height)));
}
