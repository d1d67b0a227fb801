fn each(x: u32, y: u32) -> Sum {
    var part = 0.0;
    for (var c = 0u; c < p.planes; c++) {
        let at = c * p.pixels + y * p.width + x;
        let made = stepped(x, y, c);
        write0[at] = made;
        part += read1[at] * made;
    }
    return part;
}
