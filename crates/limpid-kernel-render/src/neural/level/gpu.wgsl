const LOG2_E: f32 = 1.442695;

struct Pixel {
    guides: Guides,
    bright: f32,
    // Precisions of the guides and of the brightness.
    stops: vec2<f32>,
}

struct Tap {
    guides: Guides,
    value: vec4<f32>,
    place: u32,
    distrust: f32,
}

fn spline(i: i32) -> f32 {
    return select(select(0.0625, 0.25, abs(i) == 1), 0.375, i == 0);
}

fn is_row(y: i32, k: i32) -> bool {
    let row = y + k * i32(p.step);
    return row >= 0 && row < i32(p.height);
}

fn row_at(y: i32, k: i32) -> i32 {
    return min(y + k * i32(p.step), i32(p.height) - 1);
}

fn place_at(x: i32, y: i32) -> u32 {
    return u32(y) * p.width + u32(x);
}

fn pixel_at(x: i32, y: i32) -> Pixel {
    let i = place_at(x, y);
    let v = precisions_at(p.level * p.width * p.height + i) * LOG2_E;
    if GUIDED {
        return Pixel(guides_at(i), src[i].w, v.xy);
    }
    return Pixel(guides_at(i), 0.0, vec2(v.w, 0.0));
}

fn tap_at(x: i32, y: i32) -> Tap {
    let i = place_at(x, y);
    var distrust = 0.0;
    if GUIDED {
        distrust = precisions_at(p.level * p.width * p.height + i).z * LOG2_E;
    }
    return Tap(guides_at(i), src[i], i, distrust);
}

fn weight(own: Pixel, tap: Tap) -> f32 {
    var exponent = own.stops.x * difference(own.guides, tap.guides);
    if GUIDED {
        let off = own.bright - tap.value.w;
        exponent += own.stops.y * off * off + tap.distrust;
    }
    return exp2(-exponent);
}

fn result(v: vec4<f32>) -> vec4<f32> {
    if GUIDED {
        return vec4(v.xyz, log(max(dot(v.xyz, vec3(0.2126, 0.7152, 0.0722)), 0.0) + 0.05));
    }
    return v;
}
