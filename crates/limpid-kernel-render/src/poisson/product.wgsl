// The product of the matrix in `read0` with the image that `value` returns, at a pixel.
fn product(x: u32, y: u32, c: u32) -> f32 {
    let i = y * p.width + x;
    let here = value(x, y, c);
    var sum = read0[i] * here;
    if x + 1u < p.width {
        sum += read0[p.pixels + i] * (here - value(x + 1u, y, c));
    }
    if x > 0u {
        sum += read0[p.pixels + i - 1u] * (here - value(x - 1u, y, c));
    }
    if y + 1u < p.height {
        sum += read0[2u * p.pixels + i] * (here - value(x, y + 1u, c));
    }
    if y > 0u {
        sum += read0[2u * p.pixels + i - p.width] * (here - value(x, y - 1u, c));
    }
    return sum;
}
