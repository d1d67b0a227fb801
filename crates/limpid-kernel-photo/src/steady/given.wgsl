// As far from straight lines to splines as the colour goes.

fn limited(plain: f32, sharp: f32, least: f32, most: f32, at: u32) -> f32 {
    return plain + read4[at] * (sharp - plain);
}
