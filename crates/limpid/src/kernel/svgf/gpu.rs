//! The GPU bodies.

use super::{Origin, Past, SpatialVariance, Temporal};
use crate::definition::atrous::BLACK;
use crate::definition::svgf::{
    DEPTH_CHANGE, DEPTH_LEAST, MIRROR_ALPHA, MIRROR_VARIANCE, MOST_FRAMES, NORMAL_CHANGE, SHORT,
    TAPS_LEAST, WINDOW, deepest,
};
use crate::kernel::atrous::light_weights;
use crate::kernel::{Dispatch, Site, WgslStruct, tiles};
use crate::params;
use crate::plan::{Element, Home, Order, Slot};
use std::fmt::Write;

params! {
    /// Size of the frame.
    struct Params { width: u32, height: u32 }
}

/// A shader with these names for its slots; `body` runs for each pixel `x`, `y` with index `i`.
fn each(site: &Site<'_>, names: &[&str], declarations: &str, body: &str) -> Dispatch {
    let size = site.writes[0].size;
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
    };
    let mut s = String::from(Params::WGSL);
    let reads = site.reads.iter().map(|slot| ("read", slot));
    let slots = reads.chain(site.writes.iter().map(|slot| ("read_write", slot)));
    for (i, ((access, slot), name)) in slots.zip(names).enumerate() {
        let kind = match slot.home {
            Home::Buffer => format!("<storage, {access}> {name}: array<{}>", slot.element.wgsl()),
            Home::Texture | Home::Texture8 => format!(" {name}: texture_2d<f32>"),
        };
        let _ = writeln!(s, "@group(0) @binding({}) var{kind};", i + 1);
    }
    let _ = writeln!(
        s,
        "{declarations}@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
    let x = i32(group.x * 32u + lane % 32u);
    let y = i32(group.y * 8u + lane / 32u);
    if x >= i32(p.width) || y >= i32(p.height) {{
        return;
    }}
    let i = u32(y) * p.width + u32(x);
{body}}}"
    );
    Dispatch::own(s, &params, tiles(size, 32, 8))
}

/// `NAME_at(q)`: up to three channels of a layer at a pixel, zero beyond `planes`.
fn layer(slot: &Slot, name: &str, planes: usize) -> String {
    let texture = slot.home != Home::Buffer;
    let value = |k: usize| match k {
        k if k < planes && texture => format!("v[{k}]"),
        k if k < planes => format!("{name}[{k}u * p.width * p.height + i]"),
        _ => "0.0".into(),
    };
    let first = if texture {
        format!("let v = textureLoad({name}, q, 0);")
    } else {
        "let i = q.y * p.width + q.x;".into()
    };
    format!(
        "fn {name}_at(q: vec2<u32>) -> vec3<f32> {{
    {first}
    return vec3({}, {}, {});
}}
",
        value(0),
        value(1),
        value(2)
    )
}

/// Features in 16 bytes.
const PACKING: &str = include_str!("surface.wgsl");

/// Names of what [`Temporal`] reads and writes, and the functions that read the frame's layers.
fn layers(kernel: &Temporal, site: &Site<'_>) -> (Vec<&'static str>, String) {
    let layers = &kernel.layers;
    let mut all = vec![("color", layers.colors)];
    let others = [
        ("albedo", layers.colors),
        ("normal", 3),
        ("depth", 1),
        ("position", 3),
        ("ids", 1),
    ];
    let used = others.iter().zip(layers.used());
    all.extend(used.filter_map(|(layer, used)| used.then_some(*layer)));
    if kernel.lights {
        all.push(("lights", 0));
    }
    if kernel.past.is_some() {
        all.push(("motion", 2));
    }
    let text = all.iter().zip(&site.reads);
    let text = text
        .filter(|((name, _), _)| *name != "lights")
        .map(|((name, planes), slot)| layer(slot, name, *planes))
        .collect();
    let mut names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
    if kernel.past.is_some() {
        names.extend(["old_color", "old_features", "old_moments"]);
    }
    names.extend(["payload", "features", "moments"]);
    (names, text)
}

/// `surface_at(q)`: the features of a pixel of the frame.
fn surface(kernel: &Temporal) -> String {
    let depth = match kernel.layers.depth {
        Origin::Layer => "depth_at(q).x",
        Origin::Position => "length(position_at(q))",
    };
    let normal = match kernel.layers.normal {
        Origin::Layer => "normal_at(q)",
        Origin::Position => {
            "cross(position_at(ex.b) - position_at(ex.a), position_at(ey.b) - position_at(ey.a))"
        }
    };
    let id = if kernel.layers.id {
        "ids_at(q).x"
    } else {
        "0.0"
    };
    format!(
        "{PACKING}fn id_at(q: vec2<u32>) -> f32 {{
    return {id};
}}
fn z_at(q: vec2<u32>) -> f32 {{
    return {depth};
}}
fn normal_of(q: vec2<u32>, ex: Pair, ey: Pair) -> vec3<f32> {{
    return {normal};
}}
{}",
        include_str!("frame.wgsl")
    )
}

/// `four(v)`: four channels from an element of a slot.
fn four(slot: &Slot) -> &'static str {
    match slot.element {
        Element::F16x4 => {
            "fn four(v: vec2<u32>) -> vec4<f32> {\n    \
             return vec4(unpack2x16float(v.x), unpack2x16float(v.y));\n}\n"
        }
        _ => "fn four(v: vec4<f32>) -> vec4<f32> {\n    return v;\n}\n",
    }
}

fn light(colors: usize) -> String {
    let [r, g, b] = light_weights(colors);
    format!(
        "fn luminance(c: vec3<f32>) -> f32 {{\n    return dot(c, vec3({r:?}, {g:?}, {b:?}));\n}}\n"
    )
}

/// `put(i, v)`: stores four channels.
fn put(slot: &Slot) -> &'static str {
    match slot.element {
        Element::F16x4 => {
            "fn put(i: u32, v: vec4<f32>) {
    let c = clamp(v, vec4(-65504.0), vec4(65504.0));
    payload[i] = vec2(pack2x16float(c.xy), pack2x16float(c.zw));
}
"
        }
        _ => "fn put(i: u32, v: vec4<f32>) {\n    payload[i] = v;\n}\n",
    }
}

/// `blend(q, own, id, now)`: light and moments, blended with history.
fn blend(past: &Past, old_color: &Slot, lights: bool) -> String {
    let (level, local) = past
        .order
        .map_or((0, false), |o| (o.level, o.order == Order::Local));
    format!(
        "{}const LOCAL: bool = {local};\nconst MIRROR: bool = false;\nconst LEVEL: u32 = {level};\nconst LIGHTS: bool = {lights};
const MIRRORS: bool = {mirrors};
const MIRROR_ALPHA: f32 = {MIRROR_ALPHA:?};
const MIRROR_VARIANCE: f32 = {MIRROR_VARIANCE:?};
const ALPHA: f32 = {alpha:?};\nconst DEEPEST: f32 = {deepest:?};\nconst MOST_FRAMES: f32 = {MOST_FRAMES:?};
const DEPTH_CHANGE: f32 = {DEPTH_CHANGE:?};\nconst NORMAL_CHANGE: f32 = {NORMAL_CHANGE:?};\nconst TAPS_LEAST: f32 = {TAPS_LEAST:?};
{}{}",
        four(old_color),
        include_str!("../atrous/phases.wgsl"),
        include_str!("blend.wgsl"),
        alpha = past.alpha,
        mirrors = past.mirrors,
        deepest = deepest(past.alpha),
    )
}

pub(super) fn temporal(kernel: &Temporal, site: &Site<'_>) -> Dispatch {
    let (names, layers) = layers(kernel, site);
    let mut declarations = format!(
        "{layers}{}{}{}",
        surface(kernel),
        light(kernel.layers.colors),
        put(site.writes[0]),
    );
    let blended = match &kernel.past {
        Some(past) => {
            let old_color = site.reads[site.reads.len() - 3];
            declarations.push_str(&blend(past, old_color, kernel.lights));
            "    // As they are compared and kept: rounded.
    seen = blend(q, unpacked(bits), id, seen);
"
        }
        None => "",
    };
    let divided = if kernel.layers.albedo {
        format!(
            "let a = albedo_at(q);\n    let c = color_at(q) / select(vec3(1.0), a, a > vec3({BLACK:?}));"
        )
    } else {
        "let c = color_at(q);".into()
    };
    let mut lights = String::new();
    if kernel.lights {
        for vector in 1..site.writes[0].planes {
            let (from, to) = (
                format!("{}u * p.width * p.height", vector - 1),
                format!("{vector}u * p.width * p.height"),
            );
            let _ = writeln!(lights, "    var light{vector} = lights[{from} + i];");
            if kernel.past.is_some() {
                let tap =
                    |k: usize| format!("taps_weight[{k}] * four(old_color[{to} + taps_at[{k}]])");
                let old = [0, 1, 2, 3].map(tap).join("\n        + ");
                let _ = writeln!(
                    lights,
                    "    if taps_alpha < 1.0 {{
        let then = {old};
        light{vector} = then + taps_alpha * (light{vector} - then);
    }}"
                );
            }
            let _ = writeln!(lights, "    put({to} + i, light{vector});");
        }
    }
    let body = format!(
        "    let q = vec2(u32(x), u32(y));
    let id = id_at(q);
    let bits = packed(surface_at(q, id));
    {divided}
    let l = luminance(c);
    var seen = Seen(vec4(c, 0.0), vec3(l, l * l, 1.0));
{blended}    put(i, seen.c);
    features[i] = bits;
    moments[i] = vec4(seen.m, id);
{lights}"
    );
    each(site, &names, &declarations, &body)
}

pub(super) fn spatial_variance(kernel: &SpatialVariance, site: &Site<'_>) -> Dispatch {
    let store = match site.writes[0].element {
        Element::F16x4 => {
            "let bits = pack2x16float(vec2(0.0, min(variance, 65504.0)));
    payload[i].y = (payload[i].y & 0xffffu) | (bits & 0xffff0000u);"
        }
        _ => "payload[i].w = variance;",
    };
    let power = (1u32 << kernel.squarings) as f32;
    let declarations = format!(
        "const WINDOW: i32 = {WINDOW};\nconst SHORT: f32 = {SHORT:?};\nconst DEPTH: f32 = {depth:?};
const MIRRORS: bool = {mirrors};\nconst MIRROR_VARIANCE: f32 = {MIRROR_VARIANCE:?};
const DEPTH_LEAST: f32 = {DEPTH_LEAST:?};\nconst POWER: f32 = {power:?};
fn put_variance(i: u32, variance: f32) {{
    {store}
}}
{PACKING}{}",
        include_str!("spatial.wgsl"),
        depth = kernel.depth,
        mirrors = kernel.mirrors
    );
    let names = ["features", "moments", "payload"];
    each(site, &names, &declarations, "    spatial(x, y, i);\n")
}
