fn value(plane: u32, x: u32, y: u32) -> f32 {
    if x >= p.width || y >= p.height {
        return 0.0;
    }
    return read0[plane * p.pixels + y * p.width + x];
}

// Bonds from the square at x, y to the right and downwards.
fn right(x: u32, y: u32) -> f32 {
    return SHARE * (value(1u, x + 1u, y) + value(1u, x + 1u, y + 1u));
}

fn down(x: u32, y: u32) -> f32 {
    return SHARE * (value(2u, x, y + 1u) + value(2u, x + 1u, y + 1u));
}

fn pixel(x: u32, y: u32) {
    if x >= p.coarse_width || y >= p.coarse_height {
        return;
    }
    let i = y * p.coarse_width + x;
    let u = 2u * x;
    let v = 2u * y;
    let bound = (value(0u, u, v) + value(0u, u + 1u, v)) + (value(0u, u, v + 1u) + value(0u, u + 1u, v + 1u));
    var sum = bound + right(u, v) + down(u, v);
    if u > 0u {
        sum += right(u - 2u, v);
    }
    if v > 0u {
        sum += down(u, v - 2u);
    }
    write0[i] = bound;
    write0[i + p.coarse_pixels] = right(u, v);
    write0[i + 2u * p.coarse_pixels] = down(u, v);
    write0[i + 3u * p.coarse_pixels] = 1.0 / sum;
}
