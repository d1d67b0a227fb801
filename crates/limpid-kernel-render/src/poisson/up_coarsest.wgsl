fn pixel(x: u32, y: u32) {
    if x > 0u || y > 0u {
        return;
    }
    var sum = 0.0;
    for (var c = 0u; c < p.planes; c++) {
        write0[c] = read0[3] * read1[c];
        sum += write0[c] * read1[c];
    }
    last(sum);
}
