//! Weights of variance-guided filtering (Schied 2017) instead of differences over σ.
//!
//! The payload is colour and the variance of luminance; the features are normal, depth, the gradient of depth and the object
//! (`definition::svgf`). Differences from the plain filter: each pixel has its own σ of luminance, from the variance around it,
//! and its own σ of depth in each direction.

mod cpu;

pub use cpu::{SURFACE, Slopes, Surfaces};
pub(super) use cpu::{run, scratch};

use limpid_core::LUMINANCE;
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_reference::definition::svgf::{DEPTH_LEAST, GAUSS, LUMINANCE_LEAST};

/// How strongly differences stop the filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guided {
    /// σ of luminance, in deviations.
    pub luminance: f32,
    /// σ of depth, relative to the change predicted by the gradient.
    pub depth: f32,
    /// The cosine of normals is squared this many times.
    pub squarings: u32,
    /// Whether there are object ids.
    pub objects: bool,
}

/// Planes of features: normal, depth, gradient, object.
pub const FEATURES: usize = 7;

/// Weights of luminance by the number of colours.
pub fn light_weights(colors: usize) -> [f32; 3] {
    if colors == 1 {
        [1.0, 0.0, 0.0]
    } else {
        LUMINANCE
    }
}

/// WGSL of the weights.
pub(super) fn declared(text: Wgsl, guided: &Guided, colors: usize) -> Wgsl {
    let [r, g, b] = light_weights(colors);
    let number = |v: f32| format!("{v:?}");
    let text = text
        .constant("COLORS", "u32", colors)
        .constant(
            "LIGHT",
            "vec3<f32>",
            format_args!("vec3({r:?}, {g:?}, {b:?})"),
        )
        .constant("OBJECTS", "bool", guided.objects)
        .constant("DEPTH", "f32", number(guided.depth))
        .constant("DEPTH_LEAST", "f32", number(DEPTH_LEAST))
        .constant("LUMINANCE", "f32", number(guided.luminance))
        .constant("LUMINANCE_LEAST", "f32", number(LUMINANCE_LEAST))
        .body(include_str!("weights.wgsl"));
    let power = (guided.squarings as f32).exp2();
    let unit = 32767.0f32 * 32767.0;
    if guided.squarings < STEEP {
        return text
            .constant("NORMAL_SCALE", "f32", number(1.0 / unit))
            .constant("POWER", "f32", number(power))
            .body(include_str!("turned.wgsl"));
    }
    let half = 0.5 * power * std::f32::consts::LOG2_E;
    text.constant("NORMAL_SCALE", "f32", number(-half.sqrt() / unit))
        .constant("TWICE_ROOT", "f32", number(2.0 * half.sqrt()))
        .constant("HALF_POWER", "f32", number(half))
        .body(include_str!("turned_steep.wgsl"))
}

/// Number of squarings from which the weight of normals is computed without a logarithm.
const STEEP: u32 = 5;

/// Computes per-pixel data of a thread besides the tile: their stops, from variances in the tile, which are 0 outside; and the
/// tolerated change of depth in each direction, shared by taps on opposite sides.
pub(super) fn centres(r: usize, rows: usize, code: &mut Code) {
    let at =
        |t: usize, i: usize| format!("tile_c[base + {}u * SPAN_X + {}u].w", r + t - 1, r + i - 1);
    let [outer, middle, _] = GAUSS;
    for t in 0..rows + 2 {
        let (a, b, c) = (at(t, 0), at(t, 1), at(t, 2));
        code.say(format_args!(
            "let v{t} = fma({middle:?}, {b}, {outer:?} * ({a} + {c}))"
        ));
    }
    let near = |n: &str, at: &str| {
        format!(
            "{middle:?} + select(0.0, {outer:?}, {at} > 0u) + select(0.0, {outer:?}, {at} < last.{n})"
        )
    };
    code.say(format_args!("let near_x = {}", near("x", "at.x")));
    for k in 0..rows {
        let near = near("y", &format!("(at.y + {k}u)"));
        let (next, last) = (k + 1, k + 2);
        code.say(format_args!("let g{k} = near_x * ({near})"))
            .say(format_args!(
                "p{k}.stop = stop_of(fma({middle:?}, v{next}, {outer:?} * (v{k} + v{last})) / g{k})"
            ));
    }
    for k in 0..rows {
        for dy in r..=2 * r {
            for dx in 0..=2 * r {
                if dy > r || dx > r {
                    let d = |at: usize| at as f32 - r as f32;
                    let name = tolerance(k, [dx, dy], r);
                    let (dx, dy) = (d(dx), d(dy));
                    code.say(format_args!(
                        "let {name} = tolerance(p{k}, vec2({dx:?}, {dy:?}))"
                    ));
                }
            }
        }
    }
}

/// The variable that holds the tolerance of pixel `k` of a thread at a tap: shared by taps on opposite sides.
pub(super) fn tolerance(k: usize, [x, y]: [usize; 2], r: usize) -> String {
    let (x, y) = if y < r || (y == r && x < r) {
        (2 * r - x, 2 * r - y)
    } else {
        (x, y)
    };
    format!("z{k}_{x}_{y}")
}
