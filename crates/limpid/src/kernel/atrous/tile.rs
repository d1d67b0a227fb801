//! The text of the tile shader: a workgroup reads its pixels and their halo once into its memory, features unpacked and
//! scaled, and each thread makes a few pixels one below the other, so that taps are read once for all of them.
//!
//! A workgroup makes several tiles one below the other. While it works on one, the pixels of the next are on their way from global
//! memory into registers: without that a card waits for memory, then for arithmetic, in turn.

use super::Shape;
use super::emit::Text;
use std::fmt::Write;

/// What pixels outside have in a place that weighs: so far from everything that they count for nothing.
const FAR: &str = "1e18";

pub(super) fn body(text: &Text<'_>, shape: Shape) -> String {
    let r = text.kernel.radius() as u32;
    let mut s = String::new();
    let (span_x, span_y) = (shape.width + 2 * r, shape.height + 2 * r);
    let (block_x, block_y) = shape.blocks(r, 16);
    let (width, height, rows) = (shape.width, shape.height, shape.rows);
    let threads = shape.threads();
    memory(text, [span_x, span_y], &mut s);
    let _ = writeln!(
        s,
        "@compute @workgroup_size({threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
    let part = part_of(group);
    let places = places_of(part);
    var origin = part.tile * vec2({width}u, {tall}u);
    if any(origin >= part.len) {{
        return;
    }}
    let last = part.len - 1u;
    // Subgroups are blocks of {block_x}x{block_y} threads, which never meet in a bank.
    let block = lane / {size}u;
    let inner = lane % {size}u;
    let x = block % {across}u * {block_x}u + inner % {block_x}u;
    let y = (block / {across}u * {block_y}u + inner / {block_x}u) * {rows}u;
    let base = y * SPAN_X + x;",
        tall = height * shape.steps,
        size = block_x * block_y,
        across = width / block_x,
    );
    let halo = halo(shape, r);
    let names: Vec<String> = (0..rows)
        .map(|k| k.to_string())
        .chain((0..halo.len()).map(|k| format!("h{k}")))
        .collect();
    for name in &names {
        let _ = writeln!(s, "    var c{name}: {};", text.element());
        if text.vectors > 0 {
            let _ = writeln!(s, "    var f{name}: Features;");
        }
    }
    for (k, place) in halo.iter().enumerate() {
        let _ = writeln!(s, "    let lh{k} = {place};");
    }
    let own = |k: u32| format!("base + (u32(R) + {k}u) * SPAN_X + u32(R)");
    let mine = |k: u32| fetch(text, &k.to_string(), &format!("origin + vec2(x, y + {k}u)"));
    let beside = |k: usize| {
        let at = format!("max(origin + lh{k}, vec2(u32(R))) - u32(R)");
        fetch(text, &format!("h{k}"), &at)
    };
    let load: String = (0..rows)
        .map(mine)
        .chain((0..halo.len()).map(beside))
        .collect();
    let _ = writeln!(
        s,
        "{load}    let steps = min({}u, (part.len.y - origin.y + {}u) / {height}u);
    for (var step = 0u; step < steps; step++) {{
    let at = origin + vec2(x, y);",
        shape.steps,
        height - 1,
    );
    for k in 0..rows {
        let _ = writeln!(
            s,
            "    let at{k} = at + vec2(0u, {k}u);\n    let to{k} = place_in(part, places, at{k});"
        );
        let mut pixel = format!("pixel_of({})", given(text, &k.to_string()));
        if keeps(text) {
            let _ = writeln!(s, "    let p{k} = {pixel};");
            pixel = format!("p{k}");
        }
        let (at, place) = (format!("at{k}"), own(k));
        store(text, &pixel, &at, &place, &mut s);
        if text.carries {
            let _ = writeln!(
                s,
                "    if all(at{k} <= last) {{\n        carry(f{k}, to{k});\n    }}"
            );
        }
    }
    for k in 0..halo.len() {
        let pixel = format!("pixel_of({})", given(text, &format!("h{k}")));
        let at = format!("origin + lh{k} - u32(R)");
        let place = format!("lh{k}.y * SPAN_X + lh{k}.x");
        store(text, &pixel, &at, &place, &mut s);
    }
    let next = if shape.steps > 1 {
        format!("    if step + 1u < steps {{\n{load}    }}\n")
    } else {
        String::new()
    };
    let _ = writeln!(
        s,
        "    workgroupBarrier();
    origin.y += {height}u;
{next}    if all(at <= last) {{"
    );
    if !keeps(text) {
        for k in 0..rows {
            let _ = writeln!(s, "    var p{k} = centre({});", own(k));
        }
    }
    taps(text, shape, &mut s);
    for k in 0..rows {
        let _ = writeln!(
            s,
            "    if at{k}.y <= last.y {{
        finish(to{k}, index_of(part, at{k}), s{k}, s{k});
    }}"
        );
    }
    s.push_str("    }\n    workgroupBarrier();\n    }\n}\n");
    if !keeps(text) {
        centre(text, &mut s);
    }
    s
}

/// Whether threads keep their own pixels in registers instead of reading them from the tile again: faster, where they are small.
fn keeps(text: &Text<'_>) -> bool {
    text.kernel.guided.is_none() && !text.half
}

/// The arrays of the tile, and how a pixel is put into them.
fn memory(text: &Text<'_>, [span_x, span_y]: [u32; 2], s: &mut String) {
    let span = span_x * span_y;
    let _ = writeln!(s, "const SPAN_X: u32 = {span_x};");
    for (array, kind, _) in arrays(text) {
        let _ = writeln!(s, "var<workgroup> {array}: array<{kind}, {span}>;");
    }
    s.push_str("fn put(i: u32, a: Pixel) {\n");
    for (array, _, value) in arrays(text) {
        let _ = writeln!(s, "    {array}[i] = {value};");
    }
    s.push_str("}\n");
}

/// The arrays of the tile: name, element, and where it comes from in a pixel.
fn arrays(text: &Text<'_>) -> Vec<(String, &'static str, String)> {
    let mut all = vec![("tile_c".to_owned(), "vec4<f32>", "a.c".to_owned())];
    for v in 0..text.tiled() {
        all.push((format!("tile_f{v}"), "vec4<f32>", format!("a.f{v}")));
    }
    if text.kernel.guided.is_some() {
        all.push(("tile_g".into(), "u32", "pack2x16float(a.f1.xy)".into()));
    }
    if text.objects() {
        all.push(("tile_o".into(), "f32", "a.f1.z".into()));
    }
    all
}

/// Places in the tile of the pixels around it that a thread brings; the last threads bring the last one again.
fn halo(shape: Shape, r: u32) -> Vec<String> {
    let (width, height, threads) = (shape.width, shape.height, shape.threads());
    let d = 2 * r;
    let above = d * (width + d);
    let all = above + d * height;
    (0..all.div_ceil(threads))
        .map(|k| {
            let i = format!("min(lane + {}u, {}u)", k * threads, all - 1);
            let rows = format!(
                "vec2({i} % SPAN_X, {i} / SPAN_X + select(0u, {height}u, {i} / SPAN_X >= {r}u))"
            );
            let j = format!("({i} - {above}u)");
            let columns = format!(
                "vec2({j} % {d}u + select(0u, {width}u, {j} % {d}u >= {r}u), {j} / {d}u + {r}u)"
            );
            format!("select({columns}, {rows}, {i} < {above}u)")
        })
        .collect()
}

/// Reads a pixel of the sub-image, or the nearest inside, into `c` and `f` with this name.
fn fetch(text: &Text<'_>, name: &str, at: &str) -> String {
    let features = match text.vectors {
        0 => String::new(),
        _ => format!("        f{name} = features_at(nearest);\n"),
    };
    format!(
        "    {{
        let nearest = index_of(part, min({at}, last));
        c{name} = src[nearest];
{features}    }}
"
    )
}

/// The parts of a pixel with this name.
fn given(text: &Text<'_>, name: &str) -> String {
    match text.vectors {
        0 => format!("unstored(c{name})"),
        _ => format!("unstored(c{name}), f{name}"),
    }
}

/// Puts a pixel into the tile.
fn store(text: &Text<'_>, pixel: &str, at: &str, place: &str, s: &mut String) {
    let outside = outside(text, "a");
    let _ = writeln!(
        s,
        "    {{
        var a = {pixel};
        if any({at} > last) {{
            {outside}
        }}
        put({place}, a);
    }}"
    );
}

/// A pixel from the tile.
fn centre(text: &Text<'_>, s: &mut String) {
    s.push_str("fn centre(i: u32) -> Pixel {\n    var a: Pixel;\n    a.c = tile_c[i];\n");
    for v in 0..text.tiled() {
        let _ = writeln!(s, "    a.f{v} = tile_f{v}[i];");
    }
    if text.kernel.guided.is_some() {
        let object = if text.objects() { "tile_o[i]" } else { "0.0" };
        let _ = writeln!(
            s,
            "    a.f1 = vec4(unpack2x16float(tile_g[i]), {object}, 0.0);\n    centred(&a);"
        );
    }
    s.push_str("    return a;\n}\n");
}

/// How a pixel outside the sub-image is marked.
fn outside(text: &Text<'_>, pixel: &str) -> String {
    if text.kernel.guided.is_some() {
        // No normal, so that it has no weight, and no variance.
        format!("{pixel}.f0 = vec4(0.0);\n            {pixel}.c.w = 0.0;")
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
            let _ = write!(p, ", vec4(0.0, 0.0, {object}, 0.0), 0.0");
        }
        p + ")"
    };
    for k in 0..rows {
        let _ = writeln!(s, "    var s{k}: Sums;");
    }
    if text.kernel.guided.is_some() {
        super::guided::centres(r, rows, s);
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
                    "        let there = index_of(part, min(max(at + vec2({i}u, {t}u), vec2(u32(R))) - u32(R), last));"
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
                    match text.kernel.guided {
                        Some(_) => {
                            let z = super::guided::tolerance(k, [i, t - k], r);
                            format!("exp2(exponent_by(p{k}, tap, {h:?}, {z}))")
                        }
                        None => format!("exp2(exponent(p{k}, tap, {h:?}, vec2({dx:?}, {dy:?})))"),
                    }
                };
                let _ = writeln!(s, "        add(&s{k}, tap, {there}, {w});");
            }
            s.push_str("    }\n");
        }
    }
}
