// A layer of the output frame.

fn pixel(x: u32, y: u32) {
    let pixels = p.width * p.height;
    let at = y * p.width + x;
    let first = place(centre()) * CHANNELS * pixels + at;
    for (var c = 0u; c < CHANNELS; c++) {
        write0[c * pixels + at] = read0[first + c * pixels];
    }
}
