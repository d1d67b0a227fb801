fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    var found = 0.0;
    for (var frame = 0u; frame < FRAMES; frame++) {
        found += read3[(3u * frame + 2u) * n + i];
    }
    let share = select(1.0, share_at(LEVEL * n + i), found > 0.0);
    for (var c = 0u; c < CHANNELS; c++) {
        let filtered = read0[c * n + i];
        let mean = read1[c * n + i];
        write0[c * n + i] = select(filtered + share * (mean - filtered), mean, share == 1.0);
    }
}
