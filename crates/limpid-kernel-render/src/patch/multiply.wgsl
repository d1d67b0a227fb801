// Adds the product of a row of the matrix, stored at a pixel, with the image at pixel `q`.
fn add(s: ptr<function, array<f32, CHANNELS>>, k: u32, stored: vec2<u32>, q: vec2<u32>) {
    let m = read0[matrix(k, stored.x, stored.y)];
    for (var c = 0u; c < CHANNELS; c++) {
        (*s)[c] += m * read1[c * p.pixels + q.y * p.width + q.x];
    }
}

fn each(x: u32, y: u32) -> Sum {
    var s: array<f32, CHANNELS>;
    products(&s, x, y);
    var part = 0.0;
    for (var c = 0u; c < CHANNELS; c++) {
        let at = c * p.pixels + y * p.width + x;
        write0[at] = made(s[c], at);
        part += s[c] * read1[at];
    }
    return vec2(part, 0.0);
}
