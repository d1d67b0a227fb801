// The index of the matrix row `k` at a pixel.
fn matrix(k: u32, x: u32, y: u32) -> u32 {
    return (y * MATRIX_ROWS + k) * (p.width + MATRIX_MARGIN) + x;
}
