// The weight of tap `b`, `d` taps away from `a`, as an exponent of 2; the stop of a pixel depends on the variance around it.
//
// Colours are filtered as luminance, red and blue, so that luminance is available for every tap.
const LOG2_E: f32 = 1.4426950408889634;

fn lit(c: vec4<f32>) -> vec4<f32> {
    if COLORS == 1 {
        return c;
    }
    return vec4(dot(c.xyz, LIGHT), c.x, c.z, c.w);
}

fn unlit(c: vec4<f32>) -> vec4<f32> {
    if COLORS == 1 {
        return c;
    }
    return vec4(c.y, (c.x - LIGHT.x * c.y - LIGHT.z * c.z) / LIGHT.y, c.z, c.w);
}

// A signed 16-bit number, placed in the mantissa of a float, which is faster than a conversion.
fn sixteen(v: u32) -> f32 {
    return bitcast<f32>((v & 0xffffu) ^ 0x4b008000u) - 8421376.0;
}

fn pixel_of(c: vec4<f32>, f: Features) -> Pixel {
    var a: Pixel;
    let turn = vec3(sixteen(f.v0.x), sixteen(f.v0.x >> 16u), sixteen(f.v0.y));
    a.f0 = vec4(turn, bitcast<f32>(f.v0.w));
    let gradient = vec2(unpack2x16float(f.v0.y).y, unpack2x16float(f.v0.z).x);
    a.f1 = vec4(gradient, f32(f.v0.z >> 16u), 0.0);
    a.c = lit(c);
    return a;
}

// Values that only the centre needs. Normals are scaled here instead of at every tap. The tolerated change of depth consists of
// the change predicted by the slope, per tap in x and in y, and a constant; for base 2.
fn centred(a: ptr<function, Pixel>) {
    (*a).f0 = vec4((*a).f0.xyz * NORMAL_SCALE, (*a).f0.w);
    let scale = DEPTH / LOG2_E * f32(1u << p.level);
    (*a).f1 = vec4(
        (*a).f1.xy * scale,
        (*a).f1.z,
        (DEPTH_LEAST * abs((*a).f0.w) + 1e-6) / LOG2_E,
    );
}

// One over the tolerated change of depth `d` taps away.
fn tolerance(a: Pixel, d: vec2<f32>) -> f32 {
    return 1.0 / (abs(fma(a.f1.x, d.x, a.f1.y * d.y)) + a.f1.w);
}

fn exponent_by(a: Pixel, b: Pixel, h: f32, tolerance: f32) -> f32 {
    var e = turned(a.f0.xyz, b.f0.xyz, h);
    e = fma(-abs(a.f0.w - b.f0.w), tolerance, e);
    e = fma(-a.stop, abs(a.c.x - b.c.x), e);
    if OBJECTS {
        // A different object; 0 marks a pixel that shows several.
        e = select(e, -1e4, a.f1.z != b.f1.z && a.f1.z * b.f1.z > 0.0);
    }
    return e;
}

fn exponent(a: Pixel, b: Pixel, h: f32, d: vec2<f32>) -> f32 {
    return exponent_by(a, b, h, tolerance(a, d));
}

fn stop_of(variance: f32) -> f32 {
    return LOG2_E / (LUMINANCE * sqrt(variance) + LUMINANCE_LEAST);
}
