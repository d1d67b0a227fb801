fn value(x: u32, y: u32, c: u32) -> f32 {
    let i = y * p.width + x;
    let correction = read2[c * p.coarse_pixels + (y / 2u) * p.coarse_width + x / 2u];
    return OMEGA * read0[3u * p.pixels + i] * read1[c * p.pixels + i] + correction;
}

// Another Jacobi step.
fn stepped(x: u32, y: u32, c: u32) -> f32 {
    let i = y * p.width + x;
    let left = read1[c * p.pixels + i] - product(x, y, c);
    return value(x, y, c) + OMEGA * read0[3u * p.pixels + i] * left;
}
