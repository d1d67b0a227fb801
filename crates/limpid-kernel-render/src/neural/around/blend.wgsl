fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    var sums = vec4(0.0);
    for (var c = 0u; c < CHANNELS; c++) {
        sums[c] = read0[c * n + i];
    }
    var total = 1.0;
    for (var frame = 0u; frame < 2u * RADIUS; frame++) {
        let weight = trust_at(frame, i) * weight(frame, OF, x, y);
        sums += weight * p.factor * frame_at((frame + 1u) * n + i);
        total += weight;
    }
    for (var c = 0u; c < CHANNELS; c++) {
        write0[c * n + i] = sums[c] / total;
    }
}
