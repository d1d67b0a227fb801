fn each(x: u32, y: u32) -> Sum {
    var part = 0.0;
    for (var c = 0u; c < PLANES; c++) {
        let at = c * p.pixels + y * p.width + x;
        part += read0[at] * read1[at];
    }
    return part;
}

fn last(y: u32, sum: Sum) {
    write0[y] = sum;
}
