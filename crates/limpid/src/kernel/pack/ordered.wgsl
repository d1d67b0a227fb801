// Where pixel `i` of the image is in the order `LEVEL`.
fn place(i: u32) -> u32 {
    let y = phase_place(p.height, i / p.width, LEVEL);
    return y * p.width + phase_place(p.width, i % p.width, LEVEL);
}
