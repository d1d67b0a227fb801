// Splines in the range of the nearest pixels.

fn limited(plain: f32, sharp: f32, least: f32, most: f32, at: u32) -> f32 {
    return min(max(sharp, least), most);
}
