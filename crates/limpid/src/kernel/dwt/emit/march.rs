//! Subgroups that march down the image, a lane per column of quads: rows stream through all stages in registers.
//!
//! A round takes a few rows. Each stage gives as many, later by as many rows as it looks ahead, and keeps the last rows that
//! it read for the next round; samples of other columns come from other lanes. So nothing is computed twice along a column,
//! and nothing goes through workgroup memory or waits at a barrier.

use super::Places;
use super::region::{Exchange, Region, reach};
use super::stage::sum;
use crate::wavelet::{Matrix, Scheme};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The entry point of a region whose samples come from other lanes.
pub(super) fn main(text: &mut String, (region, places): (&Region, Places), scheme: &Scheme) {
    begin(text, region);
    let rows = region.quads;
    for h in 0..region.across {
        for (s, stage) in scheme.stages.iter().enumerate() {
            for m in 1..=kept(stage) {
                let _ = writeln!(text, "    var c{s}_{m}_{h}: vec4<f32>;");
            }
        }
    }
    for (j, h) in region.round() {
        let _ = writeln!(text, "    var l{j}_{h}: vec4<f32>;");
    }
    let next = format!("at + {rows}");
    let ahead = matches!(region.exchange, Exchange::Lanes { ahead: true, .. });
    if ahead {
        load(text, (region, places), "origin.y");
    }
    text.push_str("    for (var round = 0; round < rounds; round++) {\n");
    let _ = writeln!(text, "    let at = origin.y + round * {rows};");
    if !ahead {
        load(text, (region, places), "at");
    }
    for (j, h) in region.round() {
        let _ = writeln!(text, "    var v0_{j}_{h} = l{j}_{h};");
    }
    if ahead {
        // The next rows are on their way while these are worked on.
        text.push_str("    if round + 1 < rounds {\n");
        load(text, (region, places), &next);
        text.push_str("    }\n");
    }
    for (s, matrices) in scheme.stages.iter().enumerate() {
        stage(text, region, s, matrices);
    }
    let last = scheme.stages.len().saturating_sub(1);
    let [_, _, _, below] = region.margin;
    places.each(text, &|text, suffix| {
        for j in 0..rows {
            let y = j - below;
            let (name, values) = match region.across {
                1 => ("store", format!("v{last}_{j}_0")),
                _ => ("store_two", format!("v{last}_{j}_0, v{last}_{j}_1")),
            };
            let _ = writeln!(
                text,
                "    if stored && at + {y} >= first.y {{ {name}{suffix}(vec2<i32>(column, at + {y}), plane, {values}); }}"
            );
        }
    });
    text.push_str("    }\n}\n");
}

/// Up to where a lane stands, and what it stores.
fn begin(text: &mut String, region: &Region) {
    let [left, _, above, below] = region.margin;
    let (width, _) = region.size();
    let (tile, _) = region.tile().unwrap_or_default();
    let (threads, parts) = (region.threads(), region.regions());
    let (rows, across) = (region.quads, region.across);
    let _ = write!(
        text,
        "const LANES: u32 = {}u;\n@compute @workgroup_size({threads})\n\
         fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(subgroup_id) part: u32, @builtin(subgroup_invocation_id) own: u32) {{\n    \
         let lane = i32(own);\n    let plane = group.z;\n    let rounds = i32(p.rounds);\n    \
         let first = vec2<i32>(i32(group.x) * {tile}, i32(group.y * {parts}u + part) * (rounds * {rows} - {}));\n    \
         let origin = first - vec2<i32>({left}, {above});\n    let column = origin.x + {across} * lane;\n    \
         let stored = lane >= {} && lane < {};\n    \
         // Far from the borders nothing is mirrored and everything is kept: most regions.\n    \
         let inside = all(origin >= vec2<i32>(0)) && all(2 * (origin + vec2<i32>({width}, rounds * {rows})) <= vec2<i32>(vec2<u32>(p.width, p.height)));\n",
        width / across - 1,
        above + below,
        left / across,
        (left + tile) / across,
    );
}

/// Rows of quads from row `y` on.
fn load(text: &mut String, (region, places): (&Region, Places), y: &str) {
    places.each(text, &|text, suffix| {
        for j in 0..region.quads {
            let place = format!("vec2<i32>(column, {y} + {j})");
            let _ = match region.across {
                1 => writeln!(text, "    l{j}_0 = load{suffix}({place}, plane);"),
                _ => writeln!(
                    text,
                    "    let w{j} = load_two{suffix}({place}, plane);\n    l{j}_0 = w{j}[0];\n    l{j}_1 = w{j}[1];"
                ),
            };
        }
    });
}

/// Rows that a stage keeps of what it read.
fn kept(stage: &[Matrix]) -> i32 {
    let [_, _, above, below] = reach(stage);
    above + below
}

/// One stage of a round. Only its first matrix reaches into other quads; the first stage has none of that kind.
fn stage(text: &mut String, region: &Region, s: usize, matrices: &[Matrix]) {
    let (rows, across) = (region.quads, region.across);
    let (first, rest) = match matrices {
        _ if s == 0 => (None, matrices),
        [first, rest @ ..] => (Some(first), rest),
        [] => (None, matrices),
    };
    let [_, _, _, below] = reach(matrices);
    let before = |j: i32, h: i32| match j {
        0.. => format!("v{}_{j}_{h}", s.saturating_sub(1)),
        _ => format!("c{s}_{}_{h}", -j),
    };
    let mut known = BTreeSet::new();
    for (j, h) in region.round() {
        // Lanes away, which of the quads of a lane, and the row of a quad that stands so far away.
        let place = |(x, y): (i32, i32)| {
            let column = h + x;
            let (lane, h) = (column.div_euclid(across), column.rem_euclid(across));
            (lane, h, j + y - below)
        };
        if let Some(first) = first {
            for (c, at) in first.reads() {
                let (lane, h, j) = place(at);
                if lane != 0 && known.insert((c, lane, h, j)) {
                    let _ = writeln!(
                        text,
                        "    let {} = subgroupShuffle({}[{c}], u32(lane + {lane}) & LANES);",
                        lane_name(s, c, (lane, h, j)),
                        before(j, h),
                    );
                }
            }
            let value = |c: usize, at: (i32, i32)| match place(at) {
                (0, h, j) => format!("{}[{c}]", before(j, h)),
                far => lane_name(s, c, far),
            };
            let _ = writeln!(text, "    var v{s}_{j}_{h} = {};", quad(first, &value));
        } else if s > 0 {
            let _ = writeln!(text, "    var v{s}_{j}_{h} = {};", before(j, h));
        }
        for matrix in rest {
            let to = format!("v{s}_{j}_{h}");
            let own = quad(matrix, &|c, _| format!("{to}[{c}]"));
            let _ = writeln!(text, "    {to} = {own};");
        }
    }
    for m in (1..=kept(matrices)).rev() {
        for h in 0..across {
            let _ = writeln!(text, "    c{s}_{m}_{h} = {};", before(rows - m, h));
        }
    }
}

/// A quad as a matrix makes it.
fn quad(matrix: &Matrix, value: &dyn Fn(usize, (i32, i32)) -> String) -> String {
    let sample = |r: usize| match matrix.changes(r) {
        true => sum(matrix, r, value),
        false => value(r, (0, 0)),
    };
    format!(
        "vec4<f32>({}, {}, {}, {})",
        sample(0),
        sample(1),
        sample(2),
        sample(3)
    )
}

/// Sample `c` of a quad some lanes away, as stage `s` reads it.
fn lane_name(s: usize, c: usize, (lane, h, j): (i32, i32, i32)) -> String {
    let row = match j {
        0.. => format!("{j}"),
        _ => format!("c{}", -j),
    };
    let side = if lane < 0 { 'm' } else { 'p' };
    format!("s{s}_{c}_{row}_{h}{side}{}", lane.abs())
}
