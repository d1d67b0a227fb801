// Tries all motions of the coarsest level, for any frame.
fn search(_n: u32, there: bool) {
    begin();
    if there {
        if lane == 0u {
            look(vec2(0), 0.0, 0u);
        }
        let side = 2 * FAR + 1;
        for (var i = i32(lane); i < side * side; i += i32(LANES)) {
            look(2 * (vec2(i % side, i / side) - FAR), MARGIN, 1u + u32(i));
        }
    }
    settle();
}
