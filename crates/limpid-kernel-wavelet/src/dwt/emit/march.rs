//! Subgroups that march down the image, one lane per column of quads: rows stream through all stages in registers.
//!
//! Each round takes a few rows. Each stage outputs the same number, delayed by as many rows as it looks ahead, and keeps the
//! last rows that it read for the next round; samples of other columns come from other lanes. So nothing is computed twice
//! along a column, and neither workgroup memory nor barriers are needed.

use super::Places;
use super::region::{Exchange, Region, reach};
use super::stage::quad;
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_wavelet::{Matrix, Scheme};
use std::collections::BTreeSet;

/// The entry point of a region whose samples are exchanged between lanes.
pub(super) fn with_main(text: Wgsl, (region, places): (&Region, Places), scheme: &Scheme) -> Wgsl {
    let [left, _, above, below] = region.margin;
    let (width, _) = region.size();
    let (tile, _) = region.tile().unwrap_or_default();
    let across = region.across;
    text.constant("LAST_LANE", "u32", width / across - 1)
        .constant("TILE", "i32", tile)
        .constant("PARTS", "u32", region.regions())
        .constant("ROWS", "i32", region.quads)
        .constant("WIDTH", "i32", width)
        .constant("ABOVE", "i32", above)
        .constant("BELOW", "i32", below)
        .body(include_str!("../march.wgsl"))
        .entry_with(
            region.threads(),
            "@builtin(subgroup_id) part: u32, @builtin(subgroup_invocation_id) own: u32",
            {
                let mut code = Code::default();
                code.say("let lane = i32(own)")
                    .say("let plane = group.z")
                    .say("let rounds = i32(p.rounds)")
                    .say("let first = first_quad(group.xy, part)")
                    .say(format_args!(
                        "let origin = first - vec2<i32>({left}, ABOVE)"
                    ))
                    .say(format_args!("let column = origin.x + {across} * lane"))
                    .say(format_args!(
                        "let stored = lane >= {} && lane < {}",
                        left / across,
                        (left + tile) / across
                    ))
                    .say("let inside = is_inside(origin)");
                march(&mut code, (region, places), scheme);
                code
            },
        )
}

/// The work of a lane, round by round.
fn march(code: &mut Code, (region, places): (&Region, Places), scheme: &Scheme) {
    for h in 0..region.across {
        for (s, stage) in scheme.stages.iter().enumerate() {
            for m in 1..=kept(stage) {
                code.say(format_args!("var c{s}_{m}_{h}: vec4<f32>"));
            }
        }
    }
    for (j, h) in region.round() {
        code.say(format_args!("var l{j}_{h}: vec4<f32>"));
    }
    let ahead = matches!(region.exchange, Exchange::Lanes { ahead: true, .. });
    if ahead {
        load(code, (region, places), "origin.y");
    }
    code.block("for (var round = 0; round < rounds; round++)", |code| {
        code.say("let at = origin.y + round * ROWS");
        if !ahead {
            load(code, (region, places), "at");
        }
        for (j, h) in region.round() {
            code.say(format_args!("var v0_{j}_{h} = l{j}_{h}"));
        }
        if ahead {
            // The next rows are prefetched while these are processed.
            code.block("if round + 1 < rounds", |code| {
                load(code, (region, places), "at + ROWS");
            });
        }
        for (s, matrices) in scheme.stages.iter().enumerate() {
            stage(code, region, s, matrices);
        }
        store(
            code,
            (region, places),
            scheme.stages.len().saturating_sub(1),
        );
    });
}

/// Loads rows of quads starting at row `y`.
fn load(code: &mut Code, (region, places): (&Region, Places), y: &str) {
    places.each(code, &|code, suffix| {
        for j in 0..region.quads {
            let place = format!("vec2<i32>(column, {y} + {j})");
            if region.across == 1 {
                code.say(format_args!("l{j}_0 = load{suffix}({place}, plane)"));
                continue;
            }
            code.say(format_args!("let w{j} = load_two{suffix}({place}, plane)"))
                .say(format_args!("l{j}_0 = w{j}[0]"))
                .say(format_args!("l{j}_1 = w{j}[1]"));
        }
    });
}

/// Stores the rows of quads that the last stage outputs.
fn store(code: &mut Code, (region, places): (&Region, Places), last: usize) {
    let [_, _, _, below] = region.margin;
    places.each(code, &|code, suffix| {
        for j in 0..region.quads {
            let y = j - below;
            let (name, values) = match region.across {
                1 => ("store", format!("v{last}_{j}_0")),
                _ => ("store_two", format!("v{last}_{j}_0, v{last}_{j}_1")),
            };
            code.block(format_args!("if stored && at + {y} >= first.y"), |code| {
                code.say(format_args!(
                    "{name}{suffix}(vec2<i32>(column, at + {y}), plane, {values})"
                ));
            });
        }
    });
}

/// Number of input rows that a stage keeps.
fn kept(stage: &[Matrix]) -> i32 {
    let [_, _, above, below] = reach(stage);
    above + below
}

/// One stage of a round. Only its first matrix reads other quads; the first stage has no such matrix.
fn stage(code: &mut Code, region: &Region, s: usize, matrices: &[Matrix]) {
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
        // Lane offset, quad within the lane, and row of a quad at this offset.
        let place = |(x, y): (i32, i32)| {
            let column = h + x;
            let (lane, h) = (column.div_euclid(across), column.rem_euclid(across));
            (lane, h, j + y - below)
        };
        if let Some(first) = first {
            for (c, at) in first.reads() {
                let (lane, h, j) = place(at);
                if lane != 0 && known.insert((c, lane, h, j)) {
                    let (name, from) = (lane_name(s, c, (lane, h, j)), before(j, h));
                    code.say(format_args!(
                        "let {name} = subgroupShuffle({from}[{c}], u32(lane + {lane}) & LAST_LANE)"
                    ));
                }
            }
            let made = quad(first, &|_, c, at| match place(at) {
                (0, h, j) => format!("{}[{c}]", before(j, h)),
                far => lane_name(s, c, far),
            });
            code.say(format_args!("var v{s}_{j}_{h} = {made}"));
        } else if s > 0 {
            code.say(format_args!("var v{s}_{j}_{h} = {}", before(j, h)));
        }
        for matrix in rest {
            let to = format!("v{s}_{j}_{h}");
            let own = quad(matrix, &|_, c, _| format!("{to}[{c}]"));
            code.say(format_args!("{to} = {own}"));
        }
    }
    for m in (1..=kept(matrices)).rev() {
        for h in 0..across {
            code.say(format_args!("c{s}_{m}_{h} = {}", before(rows - m, h)));
        }
    }
}

/// Sample `c` of a quad some lanes away, as input of stage `s`.
fn lane_name(s: usize, c: usize, (lane, h, j): (i32, i32, i32)) -> String {
    let row = match j {
        0.. => format!("{j}"),
        _ => format!("c{}", -j),
    };
    let side = if lane < 0 { 'm' } else { 'p' };
    format!("s{s}_{c}_{row}_{h}{side}{}", lane.abs())
}
