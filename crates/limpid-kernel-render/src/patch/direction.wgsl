fn each(x: u32, y: u32) -> Sum {
    for (var c = 0u; c < p.planes; c++) {
        let at = c * p.pixels + y * p.width + x;
        write0[at] = read0[matrix(INVERSE, x, y)] * read1[at] + before(at);
    }
    return vec2(0.0);
}
