//! The fit on a GPU: one thread for each pixel and candidate, with its normal equations in registers.
//!
//! Weights are made for a few taps at a time: distances of single pixels, sums along rows, then each thread sums down its own
//! column. The sums and the solution are written out term by term, since arrays that a compiler does not take apart would go
//! to memory.

use super::Fit;
use crate::definition::nfor::{LEAST, STEP, TINY};
use crate::kernel::{Dispatch, Site, WgslStruct, tiles};
use crate::{Error, Result, params};
use std::fmt::Write;

params! {
    /// Size of the image and numbers of the fit.
    struct Params {
        width: i32, height: i32, pixels: i32, parity: i32, cell: u32,
        over_a: f32, over_b: f32, floor: f32, feature: f32,
        share: f32, ridge: f32, place: f32,
    }
}

/// Sides of a tile.
const TILE: (u32, u32) = (16, 8);
/// Maximum number of candidates of one dispatch.
pub(crate) const CANDIDATES: usize = 2;
/// Taps between two barriers.
const TOGETHER: usize = 4;

pub(super) fn dispatch(fit: &Fit, site: &Site<'_>) -> Result<Dispatch> {
    if fit.k.len() > CANDIDATES {
        return Err(Error::unsupported(format!(
            "a fit of {} candidates on a GPU; at most {CANDIDATES} are made together",
            fit.k.len()
        )));
    }
    let size = site.writes[0].size;
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
    let source = format!(
        "{}{}{}{}{}",
        Params::WGSL,
        constants(fit),
        bindings(fit),
        include_str!("fit.wgsl"),
        main(fit)
    );
    Ok(Dispatch::own(source, &params, tiles(size, TILE.0, TILE.1)))
}

fn constants(fit: &Fit) -> String {
    let mut text = String::new();
    let mut add = |name: &str, value: usize| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "const {name}: i32 = {value};");
    };
    add("TX", TILE.0 as usize);
    add("TY", TILE.1 as usize);
    add("R", fit.settings.window.radius);
    add("STRIDE", fit.settings.window.stride);
    add("F", fit.settings.patch);
    add("K", fit.k.len());
    add("CHANNELS", fit.channels);
    add("G", TOGETHER);
    let _ = writeln!(
        text,
        "const TINY: f32 = {TINY:e};\nconst LEAST: f32 = {LEAST:e};\nconst STEP: f32 = {STEP:e};"
    );
    text
}

fn bindings(fit: &Fit) -> String {
    let mut text = String::new();
    let names = ["guide", "variance", "classes", "data", "features"];
    for (i, name) in names[..4 + usize::from(fit.features > 0)]
        .iter()
        .enumerate()
    {
        let _ = writeln!(
            text,
            "@group(0) @binding({}) var<storage, read> {name}: array<f32>;",
            i + 1
        );
    }
    let last = 5 + usize::from(fit.features > 0);
    let _ = writeln!(
        text,
        "@group(0) @binding({last}) var<storage, read_write> dst: array<f32>;"
    );
    text
}

/// Number of unknowns: 1, x, y, features.
fn size(fit: &Fit) -> usize {
    fit.features + 3
}

/// The entry point, with everything that depends on the number of features and data written out.
fn main(fit: &Fit) -> String {
    let (n, m) = (size(fit), fit.data);
    let mut t = String::new();
    let mut line = |text: String| {
        t += "    ";
        t += &text;
        t += "\n";
    };
    line("let lane = i32(index);".into());
    line("let k = lane / (TX * TY);".into());
    line("let local = vec2(lane % TX, lane / TX % TY);".into());
    line("let origin = vec2(i32(group.x) * TX, i32(group.y) * TY);".into());
    line("let at = origin + local;".into());
    line("let inside = is_in(at);".into());
    line("let here = select(0, at.y * p.width + at.x, inside);".into());
    line("let own_class = classes[here];".into());
    line("let over = select(p.over_a, p.over_b, k == 1);".into());
    for f in 0..fit.features {
        line(format!("let own{f} = features[{f} * p.pixels + here];"));
    }
    for i in 0..n {
        for j in i..n {
            line(format!("var s{i}_{j} = 0.0;"));
        }
        for d in 0..m {
            line(format!("var t{i}_{d} = 0.0;"));
        }
    }
    line("for (var dy = -R; dy <= R; dy++) {".into());
    line("  for (var first = first_tap(dy); first <= R; first += G * STRIDE) {".into());
    line("    distances(lane, origin, first, dy);".into());
    line("    for (var g = 0; g < G; g++) {".into());
    line("      let dx = first + g * STRIDE;".into());
    line("      let q = at + vec2(dx, dy);".into());
    line("      if dx > R || !inside || !is_in(q) { continue; }".into());
    line("      let there = q.y * p.width + q.x;".into());
    line("      if classes[there] != own_class || (p.parity >= 0 && (((q.x >> p.cell) + (q.y >> p.cell)) & 1) != p.parity) { continue; }".into());
    for f in 0..fit.features {
        let v = f + 3;
        line(format!(
            "      let v{v} = features[{f} * p.pixels + there] - own{f};"
        ));
    }
    let apart: Vec<String> = (0..fit.sharp)
        .map(|f| format!("v{0} * v{0}", f + 3))
        .collect();
    let apart = if apart.is_empty() {
        "0.0".to_owned()
    } else {
        apart.join(" + ")
    };
    line(format!("      let apart = ({apart}) * p.feature;"));
    line("      let w = fast_exp(-(max(down(local, g), 0.0) / counted(at, vec2(dx, dy)) * over + apart));".into());
    line("      if w < LEAST { continue; }".into());
    line("      let v1 = f32(dx) / STEP;".into());
    line("      let v2 = f32(dy) / STEP;".into());
    for d in 0..m {
        line(format!("      let y{d} = data[{d} * p.pixels + there];"));
    }
    line("      s0_0 += w;".into());
    for d in 0..m {
        line(format!("      t0_{d} = fma(w, y{d}, t0_{d});"));
    }
    for i in 1..n {
        line(format!("      let g{i} = w * v{i};"));
        line(format!("      s0_{i} += g{i};"));
        for j in i..n {
            line(format!("      s{i}_{j} = fma(g{i}, v{j}, s{i}_{j});"));
        }
        for d in 0..m {
            line(format!("      t{i}_{d} = fma(g{i}, y{d}, t{i}_{d});"));
        }
    }
    line("    }".into());
    line("  }".into());
    line("}".into());
    line("if !inside { return; }".into());
    line("let base = k * ".to_owned() + &m.to_string() + " * p.pixels + here;");
    line("if s0_0 <= 0.0 {".into());
    for d in 0..m {
        line(format!(
            "  dst[base + {d} * p.pixels] = data[{d} * p.pixels + here];"
        ));
    }
    line("  return;".into());
    line("}".into());
    factor(n, &mut line);
    // The first row of the inverse.
    for i in 0..n {
        let first = if i == 0 { "1.0" } else { "0.0" };
        let less: String = (0..i).map(|q| format!(" - l{i}_{q} * a{q}")).collect();
        line(format!("let a{i} = ({first}{less}) * o{i};"));
    }
    for i in (0..n).rev() {
        let less: String = (i + 1..n).map(|q| format!(" - l{q}_{i} * b{q}")).collect();
        line(format!("let b{i} = (a{i}{less}) * o{i};"));
    }
    for d in 0..m {
        let terms: Vec<String> = (0..n).map(|i| format!("b{i} * t{i}_{d}")).collect();
        line(format!(
            "dst[base + {d} * p.pixels] = {};",
            terms.join(" + ")
        ));
    }
    format!(
        "@compute @workgroup_size(TX * TY * K)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {{
{t}}}
"
    )
}

/// Cholesky with pivots no less than the ridge: `l` below the diagonal, `o` one over it.
fn factor(n: usize, line: &mut impl FnMut(String)) {
    for i in 0..n {
        let least = match i {
            0 => "1e-6",
            1 | 2 => "p.place",
            _ => "p.ridge",
        };
        line(format!("let m{i} = {least} * s0_0;"));
        for j in 0..=i {
            let less: String = (0..j).map(|q| format!(" - l{i}_{q} * l{j}_{q}")).collect();
            if i != j {
                line(format!("let l{i}_{j} = (s{j}_{i}{less}) * o{j};"));
            } else if i == 0 {
                line(format!("let o{i} = 1.0 / sqrt(max(s0_0{less}, m{i}));"));
            } else {
                line(format!(
                    "let o{i} = 1.0 / sqrt(max(max(s{i}_{i}, 0.0) * p.share + m{i}{less}, m{i}));"
                ));
            }
        }
    }
}
