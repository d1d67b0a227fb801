//! The fit on a GPU: one thread for each pixel and candidate, with its normal equations in registers.
//!
//! Weights are computed for a few taps at a time: distances of single pixels, sums along rows, then each thread sums down its
//! own column. The sums and the solution are unrolled term by term, since arrays that a compiler does not split would be
//! spilled to memory.

use super::LocalRegression;
use limpid_core::{Error, Result};
use limpid_plan::params;
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_plan::{Dispatch, PassSlots, WgslStruct, tiles};
use limpid_reference::definition::nfor::{LEAST, STEP, TINY};

params! {
    /// Size of the image and parameters of the fit.
    struct Params {
        width: i32, height: i32, pixels: i32, parity: i32, cell: u32,
        over_a: f32, over_b: f32, floor: f32, feature: f32,
        share: f32, ridge: f32, place: f32,
    }
}

/// Sides of a tile.
const TILE: (u32, u32) = (16, 8);
/// Maximum number of candidates of one dispatch.
pub(super) const CANDIDATES: usize = 2;
/// Taps between two barriers.
const TOGETHER: usize = 4;

pub(super) fn dispatch(fit: &LocalRegression, pass: &PassSlots<'_>) -> Result<Dispatch> {
    if fit.k.len() > CANDIDATES {
        return Err(Error::unsupported(format!(
            "a fit of {} candidates on a GPU; at most {CANDIDATES} are made together",
            fit.k.len()
        )));
    }
    if fit.settings.window.stride == 0 || fit.sharp > fit.features || fit.cell == 0 {
        return Err(Error::unsupported("a fit without taps"));
    }
    let size = pass.writes[0].size;
    let s = &fit.settings;
    let over = |k: usize| fit.k.get(k).map_or(0.0, |k| 1.0 / (k * k));
    let params = Params {
        width: size.width as i32,
        height: size.height as i32,
        pixels: size.pixels() as i32,
        parity: fit.parity.map_or(-1, |p| p as i32),
        cell: fit.cell.ilog2(),
        over_a: over(0),
        over_b: over(1),
        floor: s.floor,
        feature: s.feature * s.feature,
        share: 1.0 + s.ridge[0],
        ridge: s.ridge[1],
        place: s.ridge[2],
    };
    let source = declared(fit)
        .structure("Own", own_features(fit).map(|f| (f, "f32")))
        .statements("own(here: i32) -> Own", own(fit))
        .structure("Sums", sums(fit).map(|name| (name, "f32")))
        .statements("apart(own: Own, there: i32) -> f32", apart(fit))
        .statements(ADD, add(fit))
        .statements("solve(s: Sums, base: i32)", solve(fit))
        .body(include_str!("fit.wgsl"))
        .text();
    Ok(Dispatch::compute(
        source,
        &params,
        tiles(size, TILE.0, TILE.1),
    ))
}

/// Constants and bindings.
fn declared(fit: &LocalRegression) -> Wgsl {
    let float = |v: f32| format!("{v:e}");
    let mut text = Wgsl::default()
        .body(Params::WGSL)
        .constant("TX", "i32", TILE.0)
        .constant("TY", "i32", TILE.1)
        .constant("R", "i32", fit.settings.window.radius)
        .constant("STRIDE", "i32", fit.settings.window.stride)
        .constant("F", "i32", fit.settings.patch)
        .constant("K", "i32", fit.k.len())
        .constant("CHANNELS", "i32", fit.channels)
        .constant("DATA", "i32", fit.data)
        .constant("G", "i32", TOGETHER)
        .constant("TINY", "f32", float(TINY))
        .constant("LEAST", "f32", float(LEAST))
        .constant("STEP", "f32", float(STEP))
        .reads(1, "guide", "f32")
        .reads(2, "variance", "f32")
        .reads(3, "classes", "f32")
        .reads(4, "data", "f32");
    if fit.features > 0 {
        text = text.reads(5, "features", "f32");
    }
    text.writes(5 + usize::from(fit.features > 0), "dst", "f32")
}

/// Number of unknowns: 1, x, y, features.
fn size(fit: &LocalRegression) -> usize {
    fit.features + 3
}

/// The names of a pixel's own features; a struct has at least one field.
fn own_features(fit: &LocalRegression) -> impl Iterator<Item = String> {
    (0..fit.features.max(1)).map(|f| format!("f{f}"))
}

fn own(fit: &LocalRegression) -> Code {
    let value = |f: usize| match f < fit.features {
        true => format!("features[{f} * p.pixels + here]"),
        false => "0.0".to_owned(),
    };
    let values: Vec<String> = (0..fit.features.max(1)).map(value).collect();
    let mut code = Code::default();
    code.say(format_args!("return Own({})", values.join(", ")));
    code
}

/// The upper half of the matrix, and the right-hand sides.
fn sums(fit: &LocalRegression) -> impl Iterator<Item = String> {
    let (n, m) = (size(fit), fit.data);
    (0..n).flat_map(move |i| {
        let row = (i..n).map(move |j| format!("s{i}_{j}"));
        row.chain((0..m).map(move |d| format!("t{i}_{d}")))
    })
}

/// The difference of a feature from the pixel's own, as an unknown.
fn difference(f: usize) -> String {
    format!(
        "let v{} = features[{f} * p.pixels + there] - own.f{f}",
        f + 3
    )
}

/// The distance of a pixel from one's own in the features that are compared.
fn apart(fit: &LocalRegression) -> Code {
    let mut code = Code::default();
    let mut terms = vec!["0.0".to_owned(); usize::from(fit.sharp == 0)];
    for f in 0..fit.sharp {
        code.say(difference(f));
        terms.push(format!("v{0} * v{0}", f + 3));
    }
    code.say(format_args!("return ({}) * p.feature", terms.join(" + ")));
    code
}

/// Accumulates a pixel at offset `d` with a weight.
const ADD: &str = "add(s: ptr<function, Sums>, own: Own, there: i32, d: vec2<i32>, w: f32)";

fn add(fit: &LocalRegression) -> Code {
    let (n, m) = (size(fit), fit.data);
    let mut code = Code::default();
    code.say("let v1 = f32(d.x) / STEP")
        .say("let v2 = f32(d.y) / STEP");
    for f in 0..fit.features {
        code.say(difference(f));
    }
    for d in 0..m {
        code.say(format_args!("let y{d} = data[{d} * p.pixels + there]"));
    }
    code.say("(*s).s0_0 += w");
    for d in 0..m {
        code.say(format_args!("(*s).t0_{d} = fma(w, y{d}, (*s).t0_{d})"));
    }
    for i in 1..n {
        code.say(format_args!("let g{i} = w * v{i}"));
        code.say(format_args!("(*s).s0_{i} += g{i}"));
        for j in i..n {
            code.say(format_args!(
                "(*s).s{i}_{j} = fma(g{i}, v{j}, (*s).s{i}_{j})"
            ));
        }
        for d in 0..m {
            code.say(format_args!(
                "(*s).t{i}_{d} = fma(g{i}, y{d}, (*s).t{i}_{d})"
            ));
        }
    }
    code
}

/// Solves the equations and stores the first unknown of each right-hand side.
fn solve(fit: &LocalRegression) -> Code {
    let (n, m) = (size(fit), fit.data);
    let mut code = Code::default();
    factor(n, &mut code);
    // The first row of the inverse.
    for i in 0..n {
        let first = if i == 0 { "1.0" } else { "0.0" };
        let less: String = (0..i).map(|q| format!(" - l{i}_{q} * a{q}")).collect();
        code.say(format_args!("let a{i} = ({first}{less}) * o{i}"));
    }
    for i in (0..n).rev() {
        let less: String = (i + 1..n).map(|q| format!(" - l{q}_{i} * b{q}")).collect();
        code.say(format_args!("let b{i} = (a{i}{less}) * o{i}"));
    }
    for d in 0..m {
        let terms: Vec<String> = (0..n).map(|i| format!("b{i} * s.t{i}_{d}")).collect();
        code.say(format_args!(
            "dst[base + {d} * p.pixels] = {}",
            terms.join(" + ")
        ));
    }
    code
}

/// Cholesky decomposition with pivots clamped to the ridge: `l` below the diagonal, `o` one over it.
fn factor(n: usize, code: &mut Code) {
    for i in 0..n {
        let least = match i {
            0 => "1e-6",
            1 | 2 => "p.place",
            _ => "p.ridge",
        };
        code.say(format_args!("let m{i} = {least} * s.s0_0"));
        for j in 0..=i {
            let less: String = (0..j).map(|q| format!(" - l{i}_{q} * l{j}_{q}")).collect();
            code.say(match (i, j) {
                (0, 0) => format!("let o{i} = 1.0 / sqrt(max(s.s0_0{less}, m{i}))"),
                _ if i == j => format!(
                    "let o{i} = 1.0 / sqrt(max(max(s.s{i}_{i}, 0.0) * p.share + m{i}{less}, m{i}))"
                ),
                _ => format!("let l{i}_{j} = (s.s{j}_{i}{less}) * o{j}"),
            });
        }
    }
}
