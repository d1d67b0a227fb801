// The position in the table of the matrix of a tap, for sixteen outputs and sixteen inputs.
fn matrix(block: u32, chunk: u32, tap: u32) -> u32 {
    return OUTPUTS / 4u + ((block * CHUNKS + chunk) * SIDE * SIDE + tap) * 64u;
}
