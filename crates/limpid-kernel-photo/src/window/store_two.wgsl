fn store(x: i32, y: i32, made: Made) {
    let n = i32(p.width * p.height);
    let at = y * i32(p.width) + x;
    for (var plane = 0; plane < PLANES; plane++) {
        dst[at + plane * n] = made.first[plane];
        other[at + plane * n] = made.second[plane];
    }
}
