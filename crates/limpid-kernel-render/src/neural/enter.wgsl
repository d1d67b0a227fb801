fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    var v = vec4(0.0);
    for (var c = 0u; c < CHANNELS; c++) {
        v[c] = src[c * n + i];
    }
    dst[p.plane * n + i] = v * p.factor / divisor_at(i);
}
