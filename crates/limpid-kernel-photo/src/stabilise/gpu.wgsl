// Maps a value of a channel by its curve: linear interpolation between knots.
fn stabilised(channel: u32, v: f32) -> f32 {
    let at = (v - p.low) / p.step;
    let i = min(u32(max(at, 0.0)), KNOTS - 2u);
    let first = channel * KNOTS + i;
    let low = param(first);
    return low + (param(first + 1u) - low) * (at - f32(i));
}

// The inverse of the curve.
fn before(channel: u32, v: f32) -> f32 {
    var low = 0u;
    var count = KNOTS - 1u;
    while count > 1u {
        let half = count / 2u;
        if param(channel * KNOTS + low + half) <= v {
            low += half;
        }
        count -= half;
    }
    let first = channel * KNOTS + low;
    let start = param(first);
    return p.low + p.step * (f32(low) + (v - start) / (param(first + 1u) - start));
}

fn scale(channel: u32) -> f32 {
    return param(PLANES * KNOTS + channel);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = id.y * p.stride + id.x;
    if at >= p.pixels {
        return;
    }
    if PLANES == 1u {
        if BACK {
            dst[at] = before(0u, src[at] * scale(0u));
        } else {
            dst[at] = stabilised(0u, src[at]) / scale(0u);
        }
        return;
    }
    let v = vec3<f32>(src[at], src[p.pixels + at], src[2u * p.pixels + at]);
    let scales = vec3<f32>(scale(0u), scale(1u), scale(2u));
    var w: vec3<f32>;
    if BACK {
        let s = v * scales;
        let rgb = s.x * A + s.y * B + s.z * C;
        w = vec3<f32>(before(0u, rgb.x), before(1u, rgb.y), before(2u, rgb.z));
    } else {
        let rgb = vec3<f32>(stabilised(0u, v.x), stabilised(1u, v.y), stabilised(2u, v.z));
        w = vec3<f32>(dot(A, rgb), dot(B, rgb), dot(C, rgb)) / scales;
    }
    dst[at] = w.x;
    dst[p.pixels + at] = w.y;
    dst[2u * p.pixels + at] = w.z;
}
