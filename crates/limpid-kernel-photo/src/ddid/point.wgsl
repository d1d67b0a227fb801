// The colour transform and the Anscombe transform, one thread per pixel.

fn stabilised(v: f32) -> f32 {
    return 2.0 * sqrt(max(v / p.gain + 0.375 + p.square, 0.0));
}

// The exact unbiased inverse: the asymptotic form plus a correction.
fn restored(value: f32) -> f32 {
    let d = max(value, p.first);
    var counts = 0.25 * d * d - 0.125 - p.square;
    if d < END {
        let at = (d - p.first) * p.scale;
        let i = min(u32(at), ENTRIES - 2u);
        counts += mix(param(i), param(i + 1u), at - f32(i));
    }
    return max(counts, 0.0) * p.gain;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = id.y * p.stride + id.x;
    if at >= p.pixels {
        return;
    }
    var v = vec3<f32>(src[at], 0.0, 0.0);
    if PLANES == 3u {
        v = vec3<f32>(v.x, src[p.pixels + at], src[2u * p.pixels + at]);
    }
    if STABILISE {
        v = vec3<f32>(stabilised(v.x), stabilised(v.y), stabilised(v.z));
    }
    var w = vec3<f32>(
        p.m00 * v.x + p.m01 * v.y + p.m02 * v.z,
        p.m10 * v.x + p.m11 * v.y + p.m12 * v.z,
        p.m20 * v.x + p.m21 * v.y + p.m22 * v.z,
    );
    if RESTORE {
        w = vec3<f32>(restored(w.x), restored(w.y), restored(w.z));
    }
    dst[at] = w.x;
    if PLANES == 3u {
        dst[p.pixels + at] = w.y;
        dst[2u * p.pixels + at] = w.z;
    }
}
