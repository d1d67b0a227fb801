fn find(box: vec4<u32>, plane: u32, count: u32, thread: u32, sigma: f32) -> f32 {
    var best = 0.0;
    var least = 3.4e38;
    for (var c = 0u; c < CANDIDATES; c++) {
        let t = f32(c) / 8.0 * sigma;
        var risk = 0.0;
        for (var i = thread; i < count; i += 256u) {
            let v = coefficient(box, plane, i);
            risk += min(v * v, t * t) - select(0.0, 2.0 * sigma * sigma, abs(v) <= t);
        }
        let sum = total(thread, risk);
        if sum < least {
            least = sum;
            best = t;
        }
    }
    return best;
}
