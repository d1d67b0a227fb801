// The eight numbers of a basis, in the slot `read0`, at a pixel of a patch.
fn basis(a: u32, i: u32) -> array<vec4<f32>, 2> {
    let at = 4u * a * p.pixels + i;
    let low = vec4(unpack2x16snorm(read0[at]), unpack2x16snorm(read0[at + p.pixels]));
    let high = vec4(unpack2x16snorm(read0[at + 2u * p.pixels]), unpack2x16snorm(read0[at + 3u * p.pixels]));
    return array<vec4<f32>, 2>(low, high);
}
