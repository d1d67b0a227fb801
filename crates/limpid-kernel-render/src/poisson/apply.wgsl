fn value(x: u32, y: u32, c: u32) -> f32 {
    return read1[c * p.pixels + y * p.width + x];
}

fn each(x: u32, y: u32) -> Sum {
    var part = 0.0;
    for (var c = 0u; c < p.planes; c++) {
        let at = c * p.pixels + y * p.width + x;
        let made = product(x, y, c);
        write0[at] = made;
        part += made * read1[at];
    }
    return part;
}
