fn found(first: u32, count: f32, sigma: f32) -> f32 {
    let signal = total(first, 0u) / count - sigma * sigma;
    // If the band contains nothing but noise, all coefficients are removed.
    if signal <= 0.0 {
        return 3.4e38;
    }
    return sigma * sigma / sqrt(signal);
}
