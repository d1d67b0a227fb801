// Means along a row: of luminance and its square, and of the history's mean and variance.

fn pixel(x: u32, y: u32) {
    var sums = vec4(0.0);
    let first = max(x, AROUND) - AROUND;
    let last = min(x + AROUND, p.width - 1u);
    for (var qx = first; qx <= last; qx++) {
        let l = luminance(light_at(vec2(qx, y)));
        let m = moments[y * p.width + qx];
        sums += vec4(l, l * l, m.x, max(m.y - m.x * m.x, 0.0));
    }
    across[y * p.width + x] = sums / f32(last + 1u - first);
}
