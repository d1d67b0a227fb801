fn found(first: u32, count: f32, sigma: f32) -> f32 {
    var best = 0u;
    var least = total(first, 0u);
    for (var s = 1u; s < SUMS; s++) {
        let risk = total(first, s);
        if risk < least {
            least = risk;
            best = s;
        }
    }
    return f32(best) / 8.0 * sigma;
}
