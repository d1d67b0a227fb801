//! Weights of variance-guided filtering (Schied 2017) in place of differences over σ.
//!
//! The payload is colour and the variance of luminance; the features are normal, depth, the gradient of depth
//! and the object (`definition::svgf`). What differs from the plain filter: a pixel has its own σ of luminance, from the variance
//! around it, and its own σ of depth in each direction.

mod cpu;

pub(crate) use cpu::{SURFACE, Slopes, Surfaces};
pub(super) use cpu::{run, scratch};

use crate::LUMINANCE;
use crate::definition::svgf::{DEPTH_LEAST, GAUSS, LUMINANCE_LEAST};
use std::fmt::Write;

/// How strongly differences stop the filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Guided {
    /// σ of luminance, in deviations.
    pub luminance: f32,
    /// σ of depth, in depths that the gradient leads to.
    pub depth: f32,
    /// The cosine of normals is squared this many times.
    pub squarings: u32,
    /// Whether there are numbers of objects.
    pub objects: bool,
}

/// Planes of features: normal, depth, gradient, object.
pub(crate) const FEATURES: usize = 7;

/// Weights of luminance by the number of colours.
pub(crate) fn light_weights(colors: usize) -> [f32; 3] {
    if colors == 1 {
        [1.0, 0.0, 0.0]
    } else {
        LUMINANCE
    }
}

/// WGSL: what the tap `b`, `d` taps away, weighs for `a`, as an exponent of 2; the stop of a pixel by the variance around.
///
/// Colours are filtered as luminance, red and blue, so that luminance is there for every tap.
pub(super) fn wgsl(guided: &Guided, colors: usize) -> String {
    let [r, g, b] = light_weights(colors);
    let (lit, unlit) = if colors == 1 {
        ("c".to_owned(), "c".to_owned())
    } else {
        (
            format!("vec4(dot(c.xyz, vec3({r:?}, {g:?}, {b:?})), c.x, c.z, c.w)"),
            format!("vec4(c.y, (c.x - {r:?} * c.y - {b:?} * c.z) / {g:?}, c.z, c.w)"),
        )
    };
    let objects = if guided.objects {
        "
    // Another object; 0 is a pixel that shows several.
    e = select(e, -1e4, a.f1.z != b.f1.z && a.f1.z * b.f1.z > 0.0);"
    } else {
        ""
    };
    format!(
        "const LOG2_E: f32 = 1.4426950408889634;
fn lit(c: vec4<f32>) -> vec4<f32> {{
    return {lit};
}}
fn unlit(c: vec4<f32>) -> vec4<f32> {{
    return {unlit};
}}
// A number of 16 bits, signed: by its place in the mantissa of a float, which is faster than a conversion.
fn sixteen(v: u32) -> f32 {{
    return bitcast<f32>((v & 0xffffu) ^ 0x4b008000u) - 8421376.0;
}}
// What only the centre needs. Normals are scaled here, not at every tap. The allowed change of depth: what the slope leads to,
// per tap in x and in y, and what is always allowed; for base 2.
fn centred(a: ptr<function, Pixel>) {{
    (*a).f0 = vec4(scaled((*a).f0.xyz), (*a).f0.w);
    let scale = {depth:?} / LOG2_E * f32(1u << p.level);
    (*a).f1 = vec4(
        (*a).f1.xy * scale,
        (*a).f1.z,
        ({DEPTH_LEAST:?} * abs((*a).f0.w) + 1e-6) / LOG2_E,
    );
}}
// One over the change of depth that is allowed `d` taps away.
fn tolerance(a: Pixel, d: vec2<f32>) -> f32 {{
    return 1.0 / (abs(fma(a.f1.x, d.x, a.f1.y * d.y)) + a.f1.w);
}}
{turned}fn exponent_by(a: Pixel, b: Pixel, h: f32, tolerance: f32) -> f32 {{
    var e = turned(a.f0.xyz, b.f0.xyz, h);
    e = fma(-abs(a.f0.w - b.f0.w), tolerance, e);
    e = fma(-a.stop, abs(a.c.x - b.c.x), e);{objects}
    return e;
}}
fn exponent(a: Pixel, b: Pixel, h: f32, d: vec2<f32>) -> f32 {{
    return exponent_by(a, b, h, tolerance(a, d));
}}
fn stop_of(variance: f32) -> f32 {{
    return LOG2_E / ({luminance:?} * sqrt(variance) + {LUMINANCE_LEAST:?});
}}
",
        turned = turned(guided.squarings),
        depth = guided.depth,
        luminance = guided.luminance,
    )
}

/// Squarings from which on the weight of normals is made without a logarithm.
const STEEP: u32 = 5;

/// WGSL: the weight of two normals as an exponent of 2 on top of `h`; normals as integers, those of the centre `scaled` first.
///
/// `log c ≈ -(1 - c) - (1 - c)² / 2 = (1 - (2 - c)²) / 2` saves a logarithm for each tap. Where that is far off, the weight of a
/// steep power is 0: it is off by 0.0004 at most for a power of 32, by 0.0001 for 64.
fn turned(squarings: u32) -> String {
    let power = (squarings as f32).exp2();
    let unit = 32767.0f32 * 32767.0;
    let (scale, body) = if squarings < STEEP {
        let body = format!("return fma({power:?}, log2(max(dot(a, b), 1e-10)), h);");
        (1.0 / unit, body)
    } else {
        let half = 0.5 * power * std::f32::consts::LOG2_E;
        let body = format!(
            "let y = fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, {:?})));
    return fma(-y, y, h + {half:?});",
            2.0 * half.sqrt()
        );
        (-half.sqrt() / unit, body)
    };
    format!(
        "fn scaled(n: vec3<f32>) -> vec3<f32> {{
    return n * {scale:?};
}}
fn turned(a: vec3<f32>, b: vec3<f32>, h: f32) -> f32 {{
    {body}
}}
"
    )
}

/// WGSL: gives a pixel its stop, by the variance of the taps next to it in global memory.
pub(super) const GLOBAL: &str = "fn guide(part: Part, at: vec2<u32>, a: ptr<function, Pixel>) {
    var sum = 0.0;
    var weights = 0.0;
    for (var j = -1; j <= 1; j++) {
        for (var i = -1; i <= 1; i++) {
            let q = vec2<i32>(at) + vec2(i, j) * spacing();
            if all(q >= vec2(0)) && all(q < vec2<i32>(part.len)) {
                let g = 0.25 / f32((1 + abs(i)) * (1 + abs(j)));
                sum += g * load(index_of(part, vec2<u32>(q))).w;
                weights += g;
            }
        }
    }
    (*a).stop = stop_of(sum / weights);
    centred(a);
}
";

/// WGSL: what the pixels of a thread need beside the tile: their stops, from variances in the tile, which are 0 outside; and how much
/// depth may change in each direction, once for taps on opposite sides.
pub(super) fn centres(r: usize, rows: usize, s: &mut String) {
    let at =
        |t: usize, i: usize| format!("tile_c[base + {}u * SPAN_X + {}u].w", r + t - 1, r + i - 1);
    let [outer, middle, _] = GAUSS;
    for t in 0..rows + 2 {
        let (a, b, c) = (at(t, 0), at(t, 1), at(t, 2));
        let _ = writeln!(
            s,
            "    let v{t} = fma({middle:?}, {b}, {outer:?} * ({a} + {c}));"
        );
    }
    let near = |n: &str, at: &str| {
        format!(
            "{middle:?} + select(0.0, {outer:?}, {at} > 0u) + select(0.0, {outer:?}, {at} < last.{n})"
        )
    };
    let _ = writeln!(s, "    let near_x = {};", near("x", "at.x"));
    for k in 0..rows {
        let _ = writeln!(
            s,
            "    let g{k} = near_x * ({});
    p{k}.stop = stop_of(fma({middle:?}, v{}, {outer:?} * (v{k} + v{})) / g{k});",
            near("y", &format!("(at.y + {k}u)")),
            k + 1,
            k + 2
        );
    }
    for k in 0..rows {
        for dy in r..=2 * r {
            for dx in 0..=2 * r {
                if dy > r || dx > r {
                    let d = |at: usize| at as f32 - r as f32;
                    let name = tolerance(k, [dx, dy], r);
                    let (dx, dy) = (d(dx), d(dy));
                    let _ = writeln!(s, "    let {name} = tolerance(p{k}, vec2({dx:?}, {dy:?}));");
                }
            }
        }
    }
}

/// The name of what pixel `k` of a thread allows at a tap: the same for taps on opposite sides.
pub(super) fn tolerance(k: usize, [x, y]: [usize; 2], r: usize) -> String {
    let (x, y) = if y < r || (y == r && x < r) {
        (2 * r - x, 2 * r - y)
    } else {
        (x, y)
    };
    format!("z{k}_{x}_{y}")
}
