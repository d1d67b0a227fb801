fn each(x: u32, y: u32) -> Sum {
    var part = 0.0;
    for (var c = 0u; c < p.planes; c++) {
        let r = advanced(c * p.pixels + y * p.width + x);
        part += r * r;
    }
    return part;
}
