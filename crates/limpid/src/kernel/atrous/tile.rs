//! The text of the tile shader: a workgroup reads its pixels and their halo once into its memory, features unpacked and
//! scaled, and each thread makes a few pixels below each other, so that taps are read once for all of them.

use super::Shape;
use super::emit::Text;
use std::fmt::Write;

/// What pixels outside have in a place that weighs: so far from everything that they count for nothing.
const FAR: &str = "1e18";

pub(super) fn body(text: &Text<'_>, shape: Shape) -> String {
    let r = text.kernel.radius();
    let mut s = String::new();
    let (span_x, span_y) = (shape.width as usize + 2 * r, shape.height as usize + 2 * r);
    let (block_x, block_y) = shape.blocks(r as u32, 16);
    let threads = shape.threads();
    let _ = writeln!(
        s,
        "const SPAN_X: u32 = {span_x};\nconst SPAN: u32 = {};\nvar<workgroup> tile_c: array<vec4<f32>, SPAN>;",
        span_x * span_y
    );
    for v in 0..text.vectors {
        let _ = writeln!(s, "var<workgroup> tile_f{v}: array<vec4<f32>, SPAN>;");
    }
    let _ = writeln!(
        s,
        "@compute @workgroup_size({threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
    let part = part_of(group);
    let origin = part.tile * vec2({}u, {}u);
    if any(origin >= part.len) {{
        return;
    }}
    let last = vec2<i32>(part.len) - 1;
    for (var i = lane; i < SPAN; i += {threads}u) {{
        let at = vec2<i32>(origin) + vec2<i32>(vec2(i % SPAN_X, i / SPAN_X)) - R;
        let safe = clamp(at, vec2(0), last);
        var a = fetch(index_of(part, vec2<u32>(safe)));
        {}
        tile_c[i] = a.c;",
        shape.width,
        shape.height,
        outside(text),
    );
    for v in 0..text.vectors {
        let _ = writeln!(s, "        tile_f{v}[i] = a.f{v};");
    }
    let across = shape.width / block_x;
    let _ = writeln!(
        s,
        "    }}
    workgroupBarrier();
    // Sub-groups are blocks of {block_x}x{block_y} threads, which never meet in a bank.
    let block = lane / {size}u;
    let inner = lane % {size}u;
    let x = block % {across}u * {block_x}u + inner % {block_x}u;
    let y = (block / {across}u * {block_y}u + inner / {block_x}u) * {rows}u;
    let at = origin + vec2(x, y);
    if any(at >= part.len) {{
        return;
    }}
    let base = y * SPAN_X + x;",
        size = block_x * block_y,
        rows = shape.rows,
    );
    taps(text, shape, &mut s);
    for k in 0..shape.rows {
        let _ = writeln!(
            s,
            "    if at.y + {k}u < part.len.y {{\n        let to = at + vec2(0u, {k}u);\n        \
             finish(part, to, index_of(part, to), s{k}, s{k});\n    }}"
        );
    }
    s.push_str("}\n");
    s
}

/// How pixels outside the sub-image are marked.
fn outside(text: &Text<'_>) -> String {
    let place = if text.vectors > 0 {
        "a.f0.x"
    } else if text.weighs() {
        "a.c.x"
    } else {
        return String::new();
    };
    format!("if any(safe != at) {{\n            {place} = {FAR};\n        }}")
}

/// All taps, written out: rows of taps, columns, and the pixels that each serves.
fn taps(text: &Text<'_>, shape: Shape, s: &mut String) {
    let (r, rows) = (text.kernel.radius(), shape.rows as usize);
    let log = |i: usize| text.kernel.taps[i].log2();
    let pixel = |at: String| {
        let mut p = format!("Pixel(tile_c[{at}]");
        for v in 0..text.vectors {
            let _ = write!(p, ", tile_f{v}[{at}]");
        }
        p + ")"
    };
    for k in 0..rows {
        let at = format!("base + {}u * SPAN_X + {r}u", r + k);
        let _ = writeln!(s, "    let p{k} = {};\n    var s{k}: Sums;", pixel(at));
    }
    // Where nothing weighs, or further planes are read, it must be known which taps are inside.
    let places = text.planes > 1;
    let checks = !text.weighs();
    for t in 0..2 * r + rows {
        if checks {
            let _ = writeln!(
                s,
                "    let iy{t} = f32(at.y + {t}u >= {r}u && at.y + {t}u < part.len.y + {r}u);"
            );
        }
        for i in 0..=2 * r {
            if checks && t == 0 {
                let _ = writeln!(
                    s,
                    "    let ix{i} = f32(at.x + {i}u >= {r}u && at.x + {i}u < part.len.x + {r}u);"
                );
            }
            let at = format!("base + {t}u * SPAN_X + {i}u");
            let _ = writeln!(s, "    {{\n        let tap = {};", pixel(at));
            let there = if places {
                let _ = writeln!(
                    s,
                    "        let q = clamp(vec2<i32>(at + vec2({i}u, {t}u)) - R, vec2(0), last);\n        \
                     let there = index_of(part, vec2<u32>(q));"
                );
                "there"
            } else {
                "0u"
            };
            for k in (0..rows).filter(|k| (*k..=*k + 2 * r).contains(&t)) {
                let h = log(t - k) + log(i);
                let w = if checks {
                    format!("{:?} * iy{t} * ix{i}", h.exp2())
                } else if t == k + r && i == r {
                    format!("{:?}", h.exp2())
                } else {
                    format!("exp2(exponent(p{k}, tap, {h:?}))")
                };
                let _ = writeln!(s, "        add(&s{k}, tap, {there}, {w});");
            }
            s.push_str("    }\n");
        }
    }
}
