fn value(x: u32, y: u32, c: u32) -> f32 {
    let i = y * p.width + x;
    return OMEGA * read0[3u * p.pixels + i] * read1[c * p.pixels + i];
}

fn left(x: u32, y: u32, c: u32) -> f32 {
    if x >= p.width || y >= p.height {
        return 0.0;
    }
    return read1[c * p.pixels + y * p.width + x] - product(x, y, c);
}

fn pixel(x: u32, y: u32) {
    if x >= p.coarse_width || y >= p.coarse_height {
        return;
    }
    let u = 2u * x;
    let v = 2u * y;
    for (var c = 0u; c < p.planes; c++) {
        let sum = (left(u, v, c) + left(u + 1u, v, c)) + (left(u, v + 1u, c) + left(u + 1u, v + 1u, c));
        write0[c * p.coarse_pixels + y * p.coarse_width + x] = sum;
    }
}
