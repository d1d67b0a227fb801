// Twice the motion that the coarser level found near the cell; `planes` and `number` are its size.
fn found(n: u32, d: vec2<i32>) -> vec2<i32> {
    let size = vec2(i32(p.planes), i32(p.number));
    let q = clamp(cell / 2 + d, vec2(0), size - 1);
    let at = q.y * size.x + q.x;
    let plane = i32(2u * n) * size.x * size.y;
    return 2 * vec2(i32(read2[plane + at]), i32(read2[plane + size.x * size.y + at]));
}

// Tries motions around those of the coarser level.
fn search(n: u32, there: bool) {
    begin();
    if there && lane < 6u {
        // Here, left, right, above, below; and zero motion.
        let side = vec2(i32(lane == 2u) - i32(lane == 1u), i32(lane == 4u) - i32(lane == 3u));
        let v = select(found(n, side), vec2(0), lane == 5u);
        look(v, select(MARGIN, 0.0, lane == 0u), lane);
    }
    settle();
    for (var step = 2; step > select(1, 0, FINEST); step--) {
        begin();
        if there {
            // The eight motions around the best.
            let i = i32(lane) + i32(lane > 3u);
            look(best + step * (vec2(i % 3, i / 3) - 1), MARGIN, lane);
        }
        settle();
    }
}
