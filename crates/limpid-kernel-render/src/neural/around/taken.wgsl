// The weight of a frame around, before and after at each distance, if it is trusted.
fn weight(frame: u32, of_what: u32, x: u32, y: u32) -> f32 {
    let n = p.map_width * p.map_height;
    let at = (2u * of_what + frame % 2u) * n + y / 2u * p.map_width + x / 2u;
    let v = map_at(frame / 2u, at)[2u * (y % 2u) + x % 2u];
    return 1.0 / (1.0 + exp(clamp(-1.0 - v, -80.0, 80.0)));
}
