// `w(p, q)`, 0 outside.
fn weight(x: u32, y: u32, a: u32) -> f32 {
    var at = vec2(i32(x), i32(y));
    var d = offset(a);
    let q = at + d;
    if any(q < vec2(0)) || q.x >= i32(p.width) || q.y >= i32(p.height) {
        return 0.0;
    }
    if all(d == vec2(0)) {
        return 1.0;
    }
    if d.y < 0 || (d.y == 0 && d.x < 0) {
        at += d;
        d = -d;
    }
    let plane = select(RADIUS + (d.y - 1) * i32(SIDE) + d.x + RADIUS, d.x - 1, d.y == 0);
    return stored_weight(u32(plane) * p.pixels + u32(at.y) * p.width + u32(at.x));
}
