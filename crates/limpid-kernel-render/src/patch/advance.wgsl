fn each(x: u32, y: u32) -> Sum {
    let inverse = read3[matrix(INVERSE, x, y)];
    var part = vec2(0.0);
    for (var c = 0u; c < p.planes; c++) {
        let r = advanced(c * p.pixels + y * p.width + x);
        part += vec2(r * r, r * r * inverse);
    }
    return part;
}
