// The position of pixel `i` of the image in the order `LEVEL`.
fn place(i: u32) -> u32 {
    let y = phase_place(p.height, i / p.width, LEVEL);
    return y * p.width + phase_place(p.width, i % p.width, LEVEL);
}
