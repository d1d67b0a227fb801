fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    let at = y / 2u * p.map_width + x / 2u;
    let place = 2u * (y % 2u) + x % 2u;
    for (var c = 0u; c < CHANNELS; c++) {
        let found = vec4<f32>(unstored(noise[c * p.map_width * p.map_height + at]));
        // The hyperbolic tangent of large values overflows on some devices.
        let most = clamp(found[place], -8.0 * MOST, 8.0 * MOST);
        dst[c * n + i] = src[c * n + i] - MOST * tanh(most / MOST);
    }
}
