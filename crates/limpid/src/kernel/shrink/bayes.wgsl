fn find(box: vec4<u32>, plane: u32, count: u32, thread: u32, sigma: f32) -> f32 {
    var sum = 0.0;
    for (var i = thread; i < count; i += 256u) {
        let v = coefficient(box, plane, i);
        sum += v * v;
    }
    let signal = total(thread, sum) / f32(max(count, 1u)) - sigma * sigma;
    // Where the band holds no more than noise, nothing is kept.
    if signal <= 0.0 {
        return 3.4e38;
    }
    return sigma * sigma / sqrt(signal);
}
