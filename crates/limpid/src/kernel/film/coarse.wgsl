// Twice what the coarser level found near the cell; `planes` and `number` are its size.
fn found(n: u32, d: vec2<i32>) -> vec2<i32> {
    let size = vec2(i32(p.planes), i32(p.number));
    let q = clamp(cell / 2 + d, vec2(0), size - 1);
    let at = q.y * size.x + q.x;
    let plane = i32(2u * n) * size.x * size.y;
    return 2 * vec2(i32(read2[plane + at]), i32(read2[plane + size.x * size.y + at]));
}

// Motions around what was found.
fn search(n: u32) {
    take(found(n, vec2(0)), 0.0);
    take(found(n, vec2(-1, 0)), MARGIN);
    take(found(n, vec2(1, 0)), MARGIN);
    take(found(n, vec2(0, -1)), MARGIN);
    take(found(n, vec2(0, 1)), MARGIN);
    take(vec2(0), MARGIN);
    for (var step = 2; step > select(1, 0, FINEST); step--) {
        let base = best;
        for (var y = -1; y < 2; y++) {
            for (var x = -1; x < 2; x++) {
                if x != 0 || y != 0 {
                    take(base + step * vec2(x, y), MARGIN);
                }
            }
        }
    }
}
