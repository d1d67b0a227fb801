// Left, top, right and bottom of a band.
fn area(band: u32) -> vec4<u32> {
    let at = CORNERS + 4u * band;
    return vec4<u32>(vec4<f32>(param(at), param(at + 1u), param(at + 2u), param(at + 3u)));
}
