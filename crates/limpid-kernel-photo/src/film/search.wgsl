// Luminance, smoothed, as integers.

fn pixel(x: u32, y: u32) {
    if frames() != runs() {
        return;
    }
    let last = vec2(i32(p.width), i32(p.height)) - 1;
    var sum = 0.0;
    for (var dy = -1; dy < 2; dy++) {
        for (var dx = -1; dx < 2; dx++) {
            let q = clamp(vec2(i32(x) + dx, i32(y) + dy), vec2(0), last);
            sum += read0[q.y * i32(p.width) + q.x];
        }
    }
    let value = clamp(round(sum / 9.0 * p.number), 0.0, MOST);
    write0[place(runs() - 1) * p.width * p.height + y * p.width + x] = value;
}
