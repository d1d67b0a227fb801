fn pixel(x: u32, y: u32) {
    let size = vec2<i32>(vec2(p.width, p.height));
    let at = vec2(i32(x), i32(y));
    let low = max(at - R, vec2(0));
    let high = min(at + R, size - 1);
    let here = y * p.width + x;
    let own = light(here);
    var sum = 0.0;
    for (var j = low.y; j <= high.y; j++) {
        for (var i = low.x; i <= high.x; i++) {
            sum += select(light(u32(j * size.x + i)), 0.0, all(vec2(i, j) == at));
        }
    }
    let count = f32(max((high.x - low.x + 1) * (high.y - low.y + 1) - 1, 1));
    let mean = sum / count;
    var squares = 0.0;
    for (var j = low.y; j <= high.y; j++) {
        for (var i = low.x; i <= high.x; i++) {
            let d = light(u32(j * size.x + i)) - mean;
            squares += select(d * d, 0.0, all(vec2(i, j) == at));
        }
    }
    let limit = mean + DEVIATIONS * sqrt(squares / count);
    scale_all(here, select(1.0, limit / own, own > limit && limit > 0.0));
}
