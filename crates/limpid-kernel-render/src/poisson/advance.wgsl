fn each(x: u32, y: u32) -> Sum {
    var part = 0.0;
    for (var c = 0u; c < p.planes; c++) {
        let at = c * p.pixels + y * p.width + x;
        write0[at] += read0[0] * read1[at];
        let r = write1[at] - read0[0] * read2[at];
        write1[at] = r;
        part += r * r;
    }
    return part;
}
