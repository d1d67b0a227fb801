fn feature(i: u32, j: u32, k: u32) -> f32 {
    let a = k * p.pixels + i;
    let b = k * p.pixels + j;
    let apart = read2[a] - read2[b];
    let spread = max(read4[a], LEAST_SPREAD) + max(read4[b], LEAST_SPREAD);
    return (apart * apart - (read3[a] + read3[b])) / (EPSILON + p.k1 * spread);
}
