// The index of the nearest of the 3×3 pixels around.
fn nearest(here: vec2<i32>, size: vec2<i32>) -> i32 {
    var found = clamp(here, vec2(0), size - 1);
    var least = distance_at(found, size);
    for (var k = 0; k < 9; k++) {
        let q = clamp(here + vec2(k % 3, k / 3) - 1, vec2(0), size - 1);
        let d = distance_at(q, size);
        if d < least {
            least = d;
            found = q;
        }
    }
    return found.y * size.x + found.x;
}

fn distance_at(q: vec2<i32>, size: vec2<i32>) -> f32 {
    let z = abs(depth_at(q.y * size.x + q.x).x);
    return select(FAR, z, z > 0.0);
}
