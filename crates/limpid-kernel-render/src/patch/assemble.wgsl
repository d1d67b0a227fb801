// The contributions of all patches around a pixel.
var<private> sums: array<f32, NEIGHBOURS + 1>;
var<private> cross: array<f32, CROSS_PLANES>;

fn pixel(x: u32, y: u32, i: u32) {
    for (var k = 0u; k <= NEIGHBOURS; k++) {
        sums[k] = 0.0;
    }
    for (var a = 0u; a < PATCH; a++) {
        let q = vec2(i32(x), i32(y)) - offset(a);
        if any(q < vec2(0)) || q.x >= i32(p.width) || q.y >= i32(p.height) {
            continue;
        }
        let j = u32(q.y) * p.width + u32(q.x);
        let own = read1[a * p.pixels + j];
        let here = basis(a, j);
        for (var k = 0u; k < CROSS_PLANES; k++) {
            cross[k] = read2[k * p.pixels + j];
        }
        let along_here = turned(here);
        sums[0] += own;
        for (var b = a; b < PATCH; b++) {
            let other = basis(b, j);
            let along = dot(along_here[0], other[0]) + dot(along_here[1], other[1]);
            let both = dot(here[0], other[0]) + dot(here[1], other[1]);
            let d = offset(b) - offset(a);
            let plane = select(REACH + 1 + (d.y - 1) * (2 * REACH + 1) + d.x + REACH, d.x, d.y == 0);
            sums[plane] += along - (own + read1[b * p.pixels + j]) * both;
        }
    }
    sums[0] += 1.0 / read3[3u * p.pixels + i];
    sums[1] -= read3[p.pixels + i];
    sums[BELOW] -= read3[2u * p.pixels + i];
    for (var k = 0u; k <= NEIGHBOURS; k++) {
        write0[matrix(k, x, y)] = sums[k];
    }
    write0[matrix(INVERSE, x, y)] = 1.0 / sums[0];
}
