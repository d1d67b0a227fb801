// Without features the basis is the constant.
fn pixel(x: u32, y: u32, i: u32) {
    let even = 1.0 / sqrt(members(x, y));
    for (var a = 0u; a < PATCH; a++) {
        write0[(4u * a) * p.pixels + i] = pack2x16snorm(vec2(even * member[a], 0.0));
        for (var k = 1u; k < MOST / 2u; k++) {
            write0[(4u * a + k) * p.pixels + i] = 0u;
        }
    }
}
