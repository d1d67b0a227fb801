fn pixel(x: u32, y: u32) {
    if x >= p.width || y >= p.height {
        return;
    }
    for (var c = 0u; c < p.planes; c++) {
        write0[c * p.pixels + y * p.width + x] = stepped(x, y, c);
    }
}
