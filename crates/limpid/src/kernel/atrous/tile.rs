//! The text of the tile shader: a workgroup reads its pixels and their halo once into its memory, features unpacked and
//! scaled, and each thread makes a few pixels below each other, so that taps are read once for all of them.
//!
//! A workgroup makes several tiles below each other. While it works on one, the pixels of the next are on their way from global
//! memory into registers: without that a card waits for memory, then for arithmetic, in turn.

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
    let span = (span_x * span_y) as u32;
    let _ = writeln!(
        s,
        "const SPAN_X: u32 = {span_x};\nvar<workgroup> tile_c: array<vec4<f32>, {span}>;"
    );
    for v in 0..text.tiled() {
        let _ = writeln!(s, "var<workgroup> tile_f{v}: array<vec4<f32>, {span}>;");
    }
    if text.objects() {
        let _ = writeln!(s, "var<workgroup> tile_o: array<f32, {span}>;");
    }
    s.push_str("fn put(i: u32, a: Pixel) {\n    tile_c[i] = a.c;\n");
    if text.objects() {
        s.push_str("    tile_o[i] = a.f1.z;\n");
    }
    for v in 0..text.tiled() {
        let _ = writeln!(s, "    tile_f{v}[i] = a.f{v};");
    }
    let threads = shape.threads();
    let _ = writeln!(
        s,
        "}}
@compute @workgroup_size({threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
    let part = part_of(group);
    let places = places_of(part);
    var origin = part.tile * vec2({width}u, {tall}u);
    if any(origin >= part.len) {{
        return;
    }}
    let last = vec2<i32>(part.len) - 1;
    // Sub-groups are blocks of {block_x}x{block_y} threads, which never meet in a bank.
    let block = lane / {size}u;
    let inner = lane % {size}u;
    let x = block % {across}u * {block_x}u + inner % {block_x}u;
    let y = (block / {across}u * {block_y}u + inner / {block_x}u) * {rows}u;
    let base = y * SPAN_X + x;",
        tall = height * shape.steps,
        size = block_x * block_y,
        across = width / block_x,
    );
    let loads = span.div_ceil(threads);
    for k in 0..loads {
        // The last threads of the last round read the last pixel again.
        let i = format!("min(lane + {}u, {}u)", k * threads, span - 1);
        let _ = writeln!(
            s,
            "    let i{k} = {i};\n    let l{k} = vec2(i{k} % SPAN_X, i{k} / SPAN_X);\n    var c{k}: {};",
            text.element()
        );
        if text.vectors > 0 {
            let _ = writeln!(s, "    var f{k}: Features;");
        }
    }
    let load: String = (0..loads).map(|k| load(text, k)).collect();
    let _ = writeln!(
        s,
        "{load}    let steps = min({}u, (part.len.y - origin.y + {}u) / {height}u);
    for (var step = 0u; step < steps; step++) {{",
        shape.steps,
        height - 1
    );
    for k in 0..loads {
        store(text, shape, k, &mut s);
    }
    let next = if shape.steps > 1 {
        format!("    if step + 1u < steps {{\n{load}    }}\n")
    } else {
        String::new()
    };
    let _ = writeln!(
        s,
        "    workgroupBarrier();
    let at = origin + vec2(x, y);
    origin.y += {height}u;
{next}    if all(at < part.len) {{"
    );
    for k in 0..rows {
        let _ = writeln!(
            s,
            "    var p{k} = centre(base + (u32(R) + {k}u) * SPAN_X + u32(R));"
        );
        if text.kernel.guided.is_some() {
            let _ = writeln!(
                s,
                "    complete(&p{k}, index_of(part, min(at + vec2(0u, {k}u), part.len - 1u)));"
            );
        }
    }
    taps(text, shape, &mut s);
    for k in 0..rows {
        let _ = writeln!(
            s,
            "    if at.y + {k}u < part.len.y {{
        let here = index_of(part, at + vec2(0u, {k}u));
        finish(place_in(part, places, at + vec2(0u, {k}u)), here, s{k}, s{k});
    }}"
        );
    }
    s.push_str("    }\n    workgroupBarrier();\n    }\n}\n");
    centre(text, &mut s);
    s
}

/// Reads one of the pixels that a thread brings to the tile, of the nearest place inside.
fn load(text: &Text<'_>, k: u32) -> String {
    let features = match text.vectors {
        0 => String::new(),
        _ => format!("        f{k} = features_at(nearest);\n"),
    };
    format!(
        "    {{
        let nearest = index_of(part, vec2<u32>(clamp(vec2<i32>(origin + l{k}) - R, vec2(0), last)));
        c{k} = src[nearest];
{features}    }}
"
    )
}

/// Puts it into the tile; features of the tile's own pixels go to where they are read next.
fn store(text: &Text<'_>, shape: Shape, k: u32, s: &mut String) {
    let given = match text.vectors {
        0 => String::new(),
        _ => format!(", f{k}"),
    };
    let carry = if text.carries {
        let (right, bottom) = (shape.width, shape.height);
        format!(
            "        if all(l{k} >= vec2(u32(R))) && all(l{k} < vec2({right}u, {bottom}u) + u32(R)) && inside {{
            carry(f{k}, place_in(part, places, vec2<u32>(q)));
        }}
"
        )
    } else {
        String::new()
    };
    let outside = outside(text, "a");
    let _ = writeln!(
        s,
        "    {{
        let q = vec2<i32>(origin + l{k}) - R;
        let inside = all(q >= vec2(0)) && all(q <= last);
        var a = pixel_of(unstored(c{k}){given});
        if !inside {{
            {outside}
        }}
        put(i{k}, a);
{carry}    }}"
    );
}

/// A pixel from the tile.
fn centre(text: &Text<'_>, s: &mut String) {
    s.push_str("fn centre(i: u32) -> Pixel {\n    var a: Pixel;\n    a.c = tile_c[i];\n");
    for v in 0..text.tiled() {
        let _ = writeln!(s, "    a.f{v} = tile_f{v}[i];");
    }
    s.push_str("    return a;\n}\n");
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
            let object = if text.objects() {
                format!("tile_o[{at}]")
            } else {
                "0.0".into()
            };
            let _ = write!(
                p,
                ", vec4(0.0, 0.0, {object}, 0.0), light(tile_c[{at}]), 0.0"
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
