// All motions of the coarsest level, whatever the frame.
fn search(_n: u32) {
    take(vec2(0), 0.0);
    for (var y = -FAR; y <= FAR; y++) {
        for (var x = -FAR; x <= FAR; x++) {
            take(2 * vec2(x, y), MARGIN);
        }
    }
}
