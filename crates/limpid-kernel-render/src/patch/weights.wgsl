// Both pixels of a pair are inside.
fn weight(x: u32, y: u32, d: vec2<i32>) -> f32 {
    let size = vec2(i32(p.width), i32(p.height));
    let here = vec2(i32(x), i32(y));
    if any(here + d < vec2(0)) || any(here + d >= size) {
        return 0.0;
    }
    let low = max(max(here - COMPARED, vec2(0)), -d);
    let high = min(min(here + COMPARED, size - 1), size - 1 - d);
    let by = d.y * i32(p.width) + d.x;
    var far = 0.0;
    for (var j = low.y; j <= high.y; j++) {
        for (var h = low.x; h <= high.x; h++) {
            let at = u32(j * i32(p.width) + h);
            far += color(at, u32(i32(at) + by));
        }
    }
    for (var k = 0u; k < FEATURES; k++) {
        var sum = 0.0;
        for (var j = low.y; j <= high.y; j++) {
            for (var h = low.x; h <= high.x; h++) {
                let at = u32(j * i32(p.width) + h);
                sum += feature(at, u32(i32(at) + by), k);
            }
        }
        far = max(far, sum);
    }
    let count = (high - low + 1).x * (high - low + 1).y;
    let near = fast_exp(-max(far / f32(count), 0.0));
    return select(0.0, near, near > LEAST_WEIGHT);
}

fn color(i: u32, j: u32) -> f32 {
    var sum = 0.0;
    for (var c = 0u; c < CHANNELS; c++) {
        let a = c * p.pixels + i;
        let b = c * p.pixels + j;
        let noise = read1[a] + read1[b];
        let apart = read0[a] - read0[b];
        sum += (apart * apart - noise) / (EPSILON + p.k0 * noise);
    }
    return sum * ONE_CHANNEL;
}
