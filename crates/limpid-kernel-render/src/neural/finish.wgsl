fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    let v = src[p.plane * n + i] * divisor_at(i) * p.factor;
    for (var c = 0u; c < CHANNELS; c++) {
        dst[c * n + i] = v[c];
    }
}
