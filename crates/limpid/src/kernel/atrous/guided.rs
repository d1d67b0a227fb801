//! Weights of variance-guided filtering (Schied 2017) in place of differences over σ.
//!
//! The payload is colour and the variance of luminance; the features are normal, depth, the gradient of depth
//! and the object (`definition::svgf`). What differs from the plain filter: a pixel has its own σ of luminance, from the variance
//! around it, and its own σ of depth in each direction.

use super::Atrous;
use super::moves::Moves;
use crate::LUMINANCE;
use crate::definition::svgf::{DEPTH_LEAST, GAUSS, LUMINANCE_LEAST};
use crate::kernel::fast_exp::fast_exp;
use crate::kernel::{Job, View};
use fearless_simd::{Simd, dispatch};
use std::fmt::Write;
use std::ops::Range;

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

/// Words of scratch memory: rows of results, weights, their sums, stops, and luminance of each row of taps.
pub(super) fn scratch(kernel: &Atrous, width: usize) -> usize {
    (kernel.planes + 3 + kernel.taps.len()) * width
}

pub(super) fn run(kernel: &Atrous, guided: &Guided, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, guided, job));
}

#[inline(always)]
fn rows<S: Simd>(_simd: S, kernel: &Atrous, guided: &Guided, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let width = size.width;
    let moves = Moves::new(kernel, width);
    let (out, rest) = job.scratch.split_at_mut(kernel.planes * width);
    let (weights, rest) = rest.split_at_mut(width);
    let (sums, rest) = rest.split_at_mut(width);
    let (stops, rest) = rest.split_at_mut(width);
    let lights = &mut rest[..kernel.taps.len() * width];
    let colors = kernel.colors;
    for y in job.rows.clone() {
        let from = kernel.source_row(size.height, y);
        let lines = lines(kernel, size.height, from);
        for (slot, (_, _, row)) in lights.chunks_exact_mut(width).zip(&lines) {
            luminances(&job.reads[0], colors, *row, slot);
        }
        let middle = lines.iter().position(|(_, d, _)| *d == 0).unwrap_or(0);
        stop(kernel, guided, &job.reads[0], &lines, &moves.spans, stops);
        out.fill(0.0);
        sums.fill(0.0);
        let features = &job.reads[1];
        for (i, (hy, dy, row)) in lines.iter().enumerate() {
            let r = kernel.radius() as isize;
            for (hx, dx) in kernel.taps.iter().zip(-r..=r) {
                let tap = Tap {
                    h: hx * hy,
                    rows: [from, *row],
                    pixels: [dx, *dy].map(|d| (d << kernel.level) as f32),
                    here: dx == 0 && *dy == 0,
                };
                let by = dx * kernel.spacing() as isize;
                for span in &moves.spans {
                    let Some(range) = inside(span, by) else {
                        continue;
                    };
                    let there =
                        (range.start as isize + by) as usize..(range.end as isize + by) as usize;
                    let w = &mut weights[..range.len()];
                    weigh(guided, features, &tap, [range.clone(), there.clone()], w);
                    if !tap.here {
                        let [a, b] = [(middle, &range), (i, &there)]
                            .map(|(line, at)| &lights[line * width..][at.clone()]);
                        differ(&stops[range.clone()], a, b, w);
                    }
                    for (s, w) in sums[range.clone()].iter_mut().zip(&*w) {
                        *s += w;
                    }
                    for plane in 0..colors {
                        let values = &job.reads[0].row(plane, *row)[there.clone()];
                        let acc = &mut out[plane * width..][range.clone()];
                        for ((a, v), w) in acc.iter_mut().zip(values).zip(&*w) {
                            *a += v * w;
                        }
                    }
                    let values = &job.reads[0].row(colors, *row)[there.clone()];
                    let acc = &mut out[colors * width..][range.clone()];
                    for ((a, v), w) in acc.iter_mut().zip(values).zip(&*w) {
                        *a += v * w * w;
                    }
                }
            }
        }
        for plane in 0..kernel.planes {
            let made = &mut out[plane * width..][..width];
            for (m, s) in made.iter_mut().zip(&*sums) {
                *m /= if plane == colors { s * s } else { *s };
            }
            if kernel.half {
                crate::kernel::half::round(made);
            }
            moves.put(made, job.writes[0].row(plane, y));
        }
        if job.writes.len() > 1 {
            for plane in 0..FEATURES {
                let carried = job.reads[1].row(plane, from);
                moves.put(carried, job.writes[1].row(plane, y));
            }
        }
    }
}

/// A tap of a row.
struct Tap {
    h: f32,
    /// Row of the pixel, and of the tap.
    rows: [usize; 2],
    /// Distance in pixels of the image.
    pixels: [f32; 2],
    /// Whether it is the pixel itself.
    here: bool,
}

/// Rows of taps inside: `h`, distance in taps, row.
fn lines(kernel: &Atrous, height: usize, y: usize) -> Vec<(f32, isize, usize)> {
    let span = kernel.reachable_rows(height, y);
    let r = kernel.radius() as isize;
    let line = |(h, d): (&f32, isize)| {
        let q = y as isize + d * kernel.spacing() as isize;
        (q >= span.start as isize && q < span.end as isize).then_some((*h, d, q as usize))
    };
    kernel.taps.iter().zip(-r..=r).filter_map(line).collect()
}

/// Columns whose tap lies inside too.
fn inside(span: &Range<usize>, by: isize) -> Option<Range<usize>> {
    let start = (span.start as isize).max(span.start as isize - by);
    let end = (span.end as isize).min(span.end as isize - by);
    (start < end).then_some(start as usize..end as usize)
}

#[inline(always)]
fn luminances(payload: &View<'_>, colors: usize, row: usize, out: &mut [f32]) {
    let weights = light_weights(colors);
    out.fill(0.0);
    for plane in 0..colors {
        for (o, v) in out.iter_mut().zip(payload.row(plane, row)) {
            *o += weights[plane] * v;
        }
    }
}

/// One over σ of luminance for each pixel of a row.
#[inline(always)]
fn stop(
    kernel: &Atrous,
    guided: &Guided,
    payload: &View<'_>,
    lines: &[(f32, isize, usize)],
    spans: &[Range<usize>],
    out: &mut [f32],
) {
    let step = kernel.spacing() as isize;
    for span in spans {
        for x in span.clone() {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (_, dy, row) in lines.iter().filter(|(_, d, _)| d.abs() <= 1) {
                let variance = payload.row(kernel.colors, *row);
                for (g, dx) in GAUSS.iter().zip(-1..=1) {
                    let q = x as isize + dx * step;
                    if q >= span.start as isize && q < span.end as isize {
                        let g = g * GAUSS[(dy + 1) as usize];
                        sum += g * variance[q as usize];
                        weights += g;
                    }
                }
            }
            let deviation = (sum / weights).sqrt();
            out[x] = 1.0 / (guided.luminance * deviation + LUMINANCE_LEAST);
        }
    }
}

/// `h · w_n · w_z` of one tap of a stretch of pixels.
#[inline(always)]
fn weigh(
    guided: &Guided,
    features: &View<'_>,
    tap: &Tap,
    [here, there]: [Range<usize>; 2],
    out: &mut [f32],
) {
    if tap.here {
        out.fill(tap.h);
        return;
    }
    let a = |plane: usize| &features.row(plane, tap.rows[0])[here.clone()];
    let b = |plane: usize| &features.row(plane, tap.rows[1])[there.clone()];
    let ([ax, ay, az], [bx, by, bz]) = ([a(0), a(1), a(2)], [b(0), b(1), b(2)]);
    for x in 0..out.len() {
        out[x] = (ax[x] * bx[x] + ay[x] * by[x] + az[x] * bz[x]).max(0.0);
    }
    for _ in 0..guided.squarings {
        for w in out.iter_mut() {
            *w *= *w;
        }
    }
    let (own, object) = (a(6), b(6));
    for x in 0..out.len() {
        let apart = own[x] != object[x] && own[x] * object[x] > 0.0;
        out[x] = if apart { 0.0 } else { out[x] };
    }
    let (z, other, gx, gy) = (a(3), b(3), a(4), a(5));
    for x in 0..out.len() {
        let slope = (gx[x] * tap.pixels[0] + gy[x] * tap.pixels[1]).abs();
        let allowed = guided.depth * slope + DEPTH_LEAST * z[x].abs() + 1e-6;
        out[x] *= tap.h * fast_exp(-(z[x] - other[x]).abs() / allowed);
    }
}

/// Times `w_l`.
#[inline(always)]
fn differ(stops: &[f32], here: &[f32], there: &[f32], out: &mut [f32]) {
    for x in 0..out.len() {
        out[x] *= fast_exp(-stops[x] * (here[x] - there[x]).abs());
    }
}
