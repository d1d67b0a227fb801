// The positions of frames in the ring. The clock is the second slot that is read.

// Runs of the plan, and number of input frames.
fn runs() -> i32 {
    return i32(read1[0]);
}

fn frames() -> i32 {
    return i32(read1[1]);
}

// The position of a frame.
fn place(frame: i32) -> u32 {
    let n = i32(p.places);
    return u32(((frame % n) + n) % n);
}

// The output frame.
fn centre() -> i32 {
    return runs() - 1 - i32(p.ahead);
}

// Whether a frame of the film is in the ring, at distance `away` from the output frame.
fn there(away: i32) -> bool {
    let frame = centre() + away;
    return frame >= 0 && frame < frames() && away <= i32(p.ahead);
}

// The distance of the n-th frame whose motion is known.
fn away(n: u32) -> i32 {
    let before = i32(n) - i32(RADIUS);
    return select(before + 1, before, before < 0);
}
