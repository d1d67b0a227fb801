//! Generates the tile shader: a workgroup reads its pixels and their halo once into workgroup memory, features unpacked and
//! scaled, and each thread computes a few vertically adjacent pixels, so that taps are read once for all of them.
//!
//! A workgroup computes several vertically adjacent tiles. While it works on one, the pixels of the next are prefetched from
//! global memory into registers; otherwise the GPU would alternate between waiting for memory and arithmetic.

use super::Shape;
use super::emit::Text;
use limpid_plan::wgsl::{Code, Wgsl};

/// Value of a guide channel outside the image: so different from all others that such pixels have no weight.
const FAR: &str = "1e18";

pub(super) fn body(text: &Text<'_>, shape: Shape, head: Wgsl) -> Wgsl {
    let r = text.kernel.radius() as u32;
    let head = memory(text, [shape.width + 2 * r, shape.height + 2 * r], head);
    let head = match keeps(text) {
        true => head,
        false => head.statements("centre(i: u32) -> Pixel", centre(text)),
    };
    head.entry(shape.threads(), entry(text, shape, r))
}

/// The entry point. The pixels of a thread are separate variables: arrays would be spilled to memory.
fn entry(text: &Text<'_>, shape: Shape, r: u32) -> Code {
    let (block_x, block_y) = shape.blocks(r, 16);
    let (width, height, rows) = (shape.width, shape.height, shape.rows);
    let (size, across) = (block_x * block_y, width / block_x);
    let mut code = Code::default();
    code.say("let part = part_of(group)")
        .say("let places = places_of(part)")
        .say(format_args!(
            "var origin = part.tile * vec2({width}u, {}u)",
            height * shape.steps
        ))
        .block("if any(origin >= part.len)", |code| {
            code.say("return");
        })
        .say("let last = part.len - 1u")
        .lines(&format!(
            "// Subgroups are blocks of {block_x}x{block_y} threads, which never meet in a bank."
        ))
        .say(format_args!("let block = lane / {size}u"))
        .say(format_args!("let inner = lane % {size}u"))
        .say(format_args!(
            "let x = block % {across}u * {block_x}u + inner % {block_x}u"
        ))
        .say(format_args!(
            "let y = (block / {across}u * {block_y}u + inner / {block_x}u) * {rows}u"
        ))
        .say("let base = y * SPAN_X + x");
    let halo = halo(shape, r);
    let own = (0..rows).map(|k| k.to_string());
    for name in own.chain((0..halo.len()).map(|k| format!("h{k}"))) {
        code.say(format_args!("var c{name}: {}", text.element()));
        if text.vectors > 0 {
            code.say(format_args!("var f{name}: Features"));
        }
    }
    for (k, place) in halo.iter().enumerate() {
        code.say(format_args!("let lh{k} = {place}"));
    }
    load(text, rows, halo.len(), &mut code);
    code.say(format_args!(
        "let steps = min({}u, (part.len.y - origin.y + {}u) / {height}u)",
        shape.steps,
        height - 1
    ));
    code.block("for (var step = 0u; step < steps; step++)", |code| {
        tile(text, shape, halo.len(), code);
    });
    code
}

/// Reads the pixels of a thread and its share of the halo.
fn load(text: &Text<'_>, rows: u32, halo: usize, code: &mut Code) {
    for k in 0..rows {
        let at = format!("origin + vec2(x, y + {k}u)");
        fetch(text, &k.to_string(), &at, code);
    }
    for k in 0..halo {
        let at = format!("max(origin + lh{k}, vec2(u32(R))) - u32(R)");
        fetch(text, &format!("h{k}"), &at, code);
    }
}

/// Computes one tile: stores the prefetched pixels in it, prefetches those of the next tile, and computes its pixels.
fn tile(text: &Text<'_>, shape: Shape, halo: usize, code: &mut Code) {
    let own = |k: u32| format!("base + (u32(R) + {k}u) * SPAN_X + u32(R)");
    code.say("let at = origin + vec2(x, y)");
    for k in 0..shape.rows {
        code.say(format_args!("let at{k} = at + vec2(0u, {k}u)"))
            .say(format_args!("let to{k} = place_in(part, places, at{k})"));
        let mut pixel = format!("pixel_of({})", given(text, &k.to_string()));
        if keeps(text) {
            code.say(format_args!("let p{k} = {pixel}"));
            pixel = format!("p{k}");
        }
        store(text, &pixel, &format!("at{k}"), &own(k), code);
        if text.carries {
            code.block(format_args!("if all(at{k} <= last)"), |code| {
                code.say(format_args!("carry(f{k}, to{k})"));
            });
        }
    }
    for k in 0..halo {
        let pixel = format!("pixel_of({})", given(text, &format!("h{k}")));
        let at = format!("origin + lh{k} - u32(R)");
        let place = format!("lh{k}.y * SPAN_X + lh{k}.x");
        store(text, &pixel, &at, &place, code);
    }
    code.say("workgroupBarrier()")
        .say(format_args!("origin.y += {}u", shape.height));
    if shape.steps > 1 {
        code.block("if step + 1u < steps", |code| {
            load(text, shape.rows, halo, code);
        });
    }
    code.block("if all(at <= last)", |code| {
        if !keeps(text) {
            for k in 0..shape.rows {
                code.say(format_args!("var p{k} = centre({})", own(k)));
            }
        }
        taps(text, shape, code);
        for k in 0..shape.rows {
            code.block(format_args!("if at{k}.y <= last.y"), |code| {
                code.say(format_args!(
                    "finish(to{k}, index_of(part, at{k}), s{k}, s{k})"
                ));
            });
        }
    });
    code.say("workgroupBarrier()");
}

/// Whether threads keep their own pixels in registers instead of reading them from the tile again: faster for small pixels.
fn keeps(text: &Text<'_>) -> bool {
    text.kernel.guided.is_none() && !text.half
}

/// Declares the arrays of the tile and the function that stores a pixel.
fn memory(text: &Text<'_>, [span_x, span_y]: [u32; 2], head: Wgsl) -> Wgsl {
    let span = span_x * span_y;
    let mut head = head.constant("SPAN_X", "u32", span_x);
    let mut put = Code::default();
    for (array, kind, value) in arrays(text) {
        head = head.variable("workgroup", &array, format_args!("array<{kind}, {span}>"));
        put.say(format_args!("{array}[i] = {value}"));
    }
    head.statements("put(i: u32, a: Pixel)", put)
}

/// The arrays of the tile: name, element, and the field of a pixel that it holds.
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

/// Tile positions of the halo pixels that a thread loads; surplus threads load the last one again.
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

/// Reads a pixel of the sub-image, clamped to its border, into `c` and `f` with this suffix.
fn fetch(text: &Text<'_>, name: &str, at: &str, code: &mut Code) {
    code.block("", |code| {
        code.say(format_args!(
            "let nearest = index_of(part, min({at}, last))"
        ))
        .say(format_args!("c{name} = src[nearest]"));
        if text.vectors > 0 {
            code.say(format_args!("f{name} = features_at(nearest)"));
        }
    });
}

/// The variables of a pixel with this suffix.
fn given(text: &Text<'_>, name: &str) -> String {
    match text.vectors {
        0 => format!("unstored(c{name})"),
        _ => format!("unstored(c{name}), f{name}"),
    }
}

/// Stores a pixel in the tile.
fn store(text: &Text<'_>, pixel: &str, at: &str, place: &str, code: &mut Code) {
    code.block("", |code| {
        code.say(format_args!("var a = {pixel}"))
            .block(format_args!("if any({at} > last)"), |code| {
                outside(text, code);
            })
            .say(format_args!("put({place}, a)"));
    });
}

/// Reads a pixel from the tile.
fn centre(text: &Text<'_>) -> Code {
    let mut code = Code::default();
    code.say("var a: Pixel").say("a.c = tile_c[i]");
    for v in 0..text.tiled() {
        code.say(format_args!("a.f{v} = tile_f{v}[i]"));
    }
    if text.kernel.guided.is_some() {
        let object = if text.objects() { "tile_o[i]" } else { "0.0" };
        code.say(format_args!(
            "a.f1 = vec4(unpack2x16float(tile_g[i]), {object}, 0.0)"
        ))
        .say("centred(&a)");
    }
    code.say("return a");
    code
}

/// Marks a pixel outside the sub-image.
fn outside(text: &Text<'_>, code: &mut Code) {
    if text.kernel.guided.is_some() {
        // A zero normal has no weight; the variance is zero too.
        code.say("a.f0 = vec4(0.0)").say("a.c.w = 0.0");
    } else if text.vectors > 0 {
        code.say(format_args!("a.f0.x = {FAR}"));
    } else if text.weighs() {
        code.say(format_args!("a.c.x = {FAR}"));
    }
}

/// All taps, unrolled: rows of taps, columns, and the pixels that use each tap.
fn taps(text: &Text<'_>, shape: Shape, code: &mut Code) {
    let (r, rows) = (text.kernel.radius(), shape.rows as usize);
    for k in 0..rows {
        code.say(format_args!("var s{k}: Sums"));
    }
    if text.kernel.guided.is_some() {
        super::guided::centres(r, rows, code);
    }
    let last = 2 * r + rows;
    // Without guides, taps outside must be excluded explicitly.
    if !text.weighs() {
        for (axis, count, name) in [("x", 2 * r + 1, "ix"), ("y", last, "iy")] {
            for t in 0..count {
                code.say(format_args!(
                    "let {name}{t} = f32(at.{axis} + {t}u >= {r}u && at.{axis} + {t}u < part.len.{axis} + {r}u)"
                ));
            }
        }
    }
    for t in 0..last {
        for i in 0..=2 * r {
            code.block("", |code| {
                let pixel = tap(text, &format!("base + {t}u * SPAN_X + {i}u"));
                code.say(format_args!("let tap = {pixel}"));
                // Further planes are read from global memory.
                let there = match text.planes {
                    1 => "0u",
                    _ => "there",
                };
                if text.planes > 1 {
                    code.say(format_args!(
                        "let there = index_of(part, min(max(at + vec2({i}u, {t}u), vec2(u32(R))) - u32(R), last))"
                    ));
                }
                for k in (0..rows).filter(|k| (*k..=*k + 2 * r).contains(&t)) {
                    let w = weight(text, k, [i, t]);
                    code.say(format_args!("add(&s{k}, tap, {there}, {w})"));
                }
            });
        }
    }
}

/// Reads a tap from the tile.
fn tap(text: &Text<'_>, at: &str) -> String {
    let mut parts = vec![format!("tile_c[{at}]")];
    parts.extend((0..text.tiled()).map(|v| format!("tile_f{v}[{at}]")));
    if text.kernel.guided.is_some() {
        let object = match text.objects() {
            true => format!("tile_o[{at}]"),
            false => "0.0".into(),
        };
        parts.push(format!("vec4(0.0, 0.0, {object}, 0.0), 0.0"));
    }
    format!("Pixel({})", parts.join(", "))
}

/// The weight of the tap in column `i` and row `t` for pixel `k`.
fn weight(text: &Text<'_>, k: usize, [i, t]: [usize; 2]) -> String {
    let r = text.kernel.radius();
    let log = |i: usize| text.kernel.taps[i].log2();
    let h = log(t - k) + log(i);
    if !text.weighs() {
        return format!("{:?} * iy{t} * ix{i}", h.exp2());
    }
    if t == k + r && i == r {
        return format!("{:?}", h.exp2());
    }
    let d = |at: usize| at as f32 - r as f32;
    let (dx, dy) = (d(i), d(t - k));
    match text.kernel.guided {
        Some(_) => {
            let z = super::guided::tolerance(k, [i, t - k], r);
            format!("exp2(exponent_by(p{k}, tap, {h:?}, {z}))")
        }
        None => format!("exp2(exponent(p{k}, tap, {h:?}, vec2({dx:?}, {dy:?})))"),
    }
}
