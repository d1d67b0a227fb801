// Splines in the range of the nearest pixels; how far they go from straight lines is told.

fn limited(plain: f32, sharp: f32, least: f32, most: f32, at: u32) -> f32 {
    let made = min(max(sharp, least), most);
    let way = sharp - plain;
    var share = 1.0;
    if way != 0.0 {
        share = clamp((made - plain) / way, 0.0, 1.0);
    }
    write1[at] = share;
    return made;
}
