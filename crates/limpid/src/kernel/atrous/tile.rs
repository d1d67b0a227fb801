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
    let (width, height, rows) = (shape.width, shape.height, shape.rows);
    let _ = writeln!(
        s,
        "const SPAN_X: u32 = {span_x};
const ENDS: u32 = 2u * u32(R) * SPAN_X;
const HALO: u32 = {};
var<workgroup> tile_c: array<vec4<f32>, {}>;",
        span_x * span_y - (width * height) as usize,
        span_x * span_y
    );
    for v in 0..text.tiled() {
        let _ = writeln!(
            s,
            "var<workgroup> tile_f{v}: array<vec4<f32>, {}>;",
            span_x * span_y
        );
    }
    let guided = text.kernel.guided.is_some();
    if guided {
        let _ = writeln!(s, "var<workgroup> tile_o: array<f32, {}>;", span_x * span_y);
    }
    s.push_str("fn put(i: u32, a: Pixel) {\n    tile_c[i] = a.c;\n");
    if guided {
        s.push_str("    tile_o[i] = a.f1.z;\n");
    }
    for v in 0..text.tiled() {
        let _ = writeln!(s, "    tile_f{v}[i] = a.f{v};");
    }
    let threads = shape.threads();
    let _ = writeln!(
        s,
        "}}
// The rows above and below the tile, then the columns beside it.
fn halo(i: u32) -> vec2<u32> {{
    let r = u32(R);
    if i < ENDS {{
        let y = i / SPAN_X;
        return vec2(i % SPAN_X, y + select(0u, {height}u, y >= r));
    }}
    let k = i - ENDS;
    let x = k % (2u * r);
    return vec2(x + select(0u, {width}u, x >= r), r + k / (2u * r));
}}
@compute @workgroup_size({threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
    let part = part_of(group);
    let origin = part.tile * vec2({width}u, {height}u);
    if any(origin >= part.len) {{
        return;
    }}
    let last = vec2<i32>(part.len) - 1;
    // Sub-groups are blocks of {block_x}x{block_y} threads, which never meet in a bank.
    let block = lane / {size}u;
    let inner = lane % {size}u;
    let x = block % {across}u * {block_x}u + inner % {block_x}u;
    let y = (block / {across}u * {block_y}u + inner / {block_x}u) * {rows}u;
    let at = origin + vec2(x, y);
    let base = y * SPAN_X + x;",
        size = block_x * block_y,
        across = width / block_x,
    );
    for k in 0..rows {
        own(text, k, &mut s);
    }
    let _ = writeln!(
        s,
        "    for (var i = lane; i < HALO; i += {threads}u) {{
        let local = halo(i);
        let q = vec2<i32>(origin + local) - R;
        let safe = clamp(q, vec2(0), last);
        var a = fetch(index_of(part, vec2<u32>(safe)));
        if any(safe != q) {{
            {}
        }}
        put(local.y * SPAN_X + local.x, a);
    }}
    workgroupBarrier();
    if any(at >= part.len) {{
        return;
    }}",
        outside(text, "a"),
    );
    taps(text, shape, &mut s);
    for k in 0..rows {
        let _ = writeln!(
            s,
            "    if at.y + {k}u < part.len.y {{\n        finish(to{k}, here{k}, s{k}, s{k});\n    }}"
        );
    }
    s.push_str("}\n");
    s
}

/// A pixel that the thread makes: into the tile, its features to where they go.
fn own(text: &Text<'_>, k: u32, s: &mut String) {
    let (read, given) = match text.vectors {
        0 => ("", ""),
        _ => ("    let f{k} = features_at(here{k});\n", ", f{k}"),
    };
    let carry = if text.carries {
        "        carry(f{k}, to{k});\n"
    } else {
        ""
    };
    let outside = outside(text, "p{k}");
    let text = format!(
        "    let at{{k}} = at + vec2(0u, {{k}}u);
    let here{{k}} = index_of(part, min(at{{k}}, part.len - 1u));
{read}    var p{{k}} = pixel_of(load(here{{k}}){given});
    var to{{k}} = 0u;
    if all(at{{k}} < part.len) {{
        to{{k}} = place_of(part, at{{k}});
{carry}    }} else {{
        {outside}
    }}
    put(base + (u32(R) + {{k}}u) * SPAN_X + u32(R), p{{k}});
"
    );
    s.push_str(&text.replace("{k}", &k.to_string()));
}

/// How a pixel outside the sub-image is marked.
fn outside(text: &Text<'_>, pixel: &str) -> String {
    if text.kernel.guided.is_some() {
        // No normal, so that it weighs nothing, and a variance that is none.
        format!("{pixel}.f0 = vec4(0.0);\n        {pixel}.c.w = -1.0;")
    } else if text.vectors > 0 {
        format!("{pixel}.f0.x = {FAR};")
    } else if text.weighs() {
        format!("{pixel}.c.x = {FAR};")
    } else {
        String::new()
    }
}

/// All taps, written out: rows of taps, columns, and the pixels that each serves.
fn taps(text: &Text<'_>, shape: Shape, s: &mut String) {
    let (r, rows) = (text.kernel.radius(), shape.rows as usize);
    let log = |i: usize| text.kernel.taps[i].log2();
    let pixel = |at: String| {
        let mut p = format!("Pixel(tile_c[{at}]");
        for v in 0..text.tiled() {
            let _ = write!(p, ", tile_f{v}[{at}]");
        }
        if text.kernel.guided.is_some() {
            let _ = write!(
                p,
                ", vec4(0.0, 0.0, tile_o[{at}], 0.0), light(tile_c[{at}]), 0.0"
            );
        }
        p + ")"
    };
    for k in 0..rows {
        let _ = writeln!(s, "    var s{k}: Sums;");
        if text.kernel.guided.is_some() {
            s.push_str(&super::guided::tiled(k as u32));
        }
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
                    let d = |at: usize| at as f32 - r as f32;
                    let (dx, dy) = (d(i), d(t - k));
                    format!("exp2(exponent(p{k}, tap, {h:?}, vec2({dx:?}, {dy:?})))")
                };
                let _ = writeln!(s, "        add(&s{k}, tap, {there}, {w});");
            }
            s.push_str("    }\n");
        }
    }
}
