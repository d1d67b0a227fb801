fn pixel(x: u32, y: u32) {
    let texel = textureLoad(src, vec2<u32>(x, y), 0);
    for (var plane = 0u; plane < PLANES; plane++) {
        dst[(plane * p.height + y) * p.width + x] = texel[plane];
    }
}
