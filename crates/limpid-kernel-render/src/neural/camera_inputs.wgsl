fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    var v = vec4(0.0);
    var sum = 0.0;
    var gains = array(p.gain0, p.gain1, p.gain2);
    for (var c = 0u; c < CHANNELS; c++) {
        v[c] = stabilised[c * n + i] * gains[c];
        sum += src[c * n + i];
    }
    v.w = clamp(sum / f32(CHANNELS), 0.0, 1.0);
    inputs[i] = stored(v);
}
