// The sixteen pixels around a position, clamped to the range of the four nearest; with 1 if there is history.

fn spline(f: f32) -> vec4<f32> {
    let g = 1.0 - f;
    return vec4<f32>(-0.5 * f * g * g, 1.0 + f * f * (1.5 * f - 2.5), 1.0 + g * g * (1.5 * g - 2.5), -0.5 * g * f * f);
}

fn history_around(place: vec2<f32>, size: vec2<i32>) -> vec4<f32> {
    let b = vec2<i32>(floor(place));
    let f = place - floor(place);
    let wx = spline(f.x);
    let wy = spline(f.y);
    let v11 = old(b, size);
    let v21 = old(b + vec2<i32>(1, 0), size);
    let v12 = old(b + vec2<i32>(0, 1), size);
    let v22 = old(b + 1, size);
    let top = wx.x * old(b + vec2<i32>(-1, -1), size) + wx.y * old(b + vec2<i32>(0, -1), size)
        + wx.z * old(b + vec2<i32>(1, -1), size) + wx.w * old(b + vec2<i32>(2, -1), size);
    let upper = wx.x * old(b + vec2<i32>(-1, 0), size) + wx.y * v11 + wx.z * v21 + wx.w * old(b + vec2<i32>(2, 0), size);
    let lower = wx.x * old(b + vec2<i32>(-1, 1), size) + wx.y * v12 + wx.z * v22 + wx.w * old(b + vec2<i32>(2, 1), size);
    let bottom = wx.x * old(b + vec2<i32>(-1, 2), size) + wx.y * old(b + vec2<i32>(0, 2), size)
        + wx.z * old(b + vec2<i32>(1, 2), size) + wx.w * old(b + vec2<i32>(2, 2), size);
    let sum = wy.x * top + wy.y * upper + wy.z * lower + wy.w * bottom;
    let least = min(min(v11, v21), min(v12, v22));
    let most = max(max(v11, v21), max(v12, v22));
    let last = vec2<f32>(size - 1);
    let inside = all(place >= vec2<f32>(-BEYOND)) && all(place <= last + BEYOND);
    return vec4<f32>(clamp(sum, least, most).xyz, select(0.0, v11.w, inside));
}
