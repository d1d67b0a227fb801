//! The GPU bodies.

use super::{Origin, Past, SpatialVariance, Temporal};
use crate::definition::atrous::BLACK;
use crate::definition::svgf::{
    DEPTH_CHANGE, DEPTH_LEAST, MOST_FRAMES, NORMAL_CHANGE, SHORT, TAPS_LEAST, WINDOW, deepest,
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

/// Features in 16 bytes: the normal in 16 bits each, the gradient in half floats, the object in 16 bits, depth.
const PACKING: &str = "struct Surface {
    n: vec3<f32>,
    z: f32,
    g: vec2<f32>,
    o: u32,
}
fn packed(s: Surface) -> vec4<u32> {
    let steep = clamp(s.g, vec2(-65504.0), vec2(65504.0));
    let mixed = (pack2x16snorm(vec2(s.n.z, 0.0)) & 0xffffu) | (pack2x16float(vec2(0.0, steep.x)) & 0xffff0000u);
    let last = (pack2x16float(vec2(steep.y, 0.0)) & 0xffffu) | (s.o << 16u);
    return vec4(pack2x16snorm(s.n.xy), mixed, last, bitcast<u32>(s.z));
}
fn unpacked(v: vec4<u32>) -> Surface {
    return Surface(
        vec3(unpack2x16snorm(v.x), unpack2x16snorm(v.y).x),
        bitcast<f32>(v.w),
        vec2(unpack2x16float(v.y).y, unpack2x16float(v.z).x),
        v.z >> 16u,
    );
}
";

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
struct Pair {{
    a: vec2<u32>,
    b: vec2<u32>,
    rise: f32,
}}
// The pixel and the neighbour along an axis that is nearer in depth, in order, and how depth changes between them.
fn nearer(q: vec2<u32>, z: f32, axis: vec2<u32>, before: bool, after: bool) -> Pair {{
    let low = select(q, q - axis, before);
    let high = select(q, q + axis, after);
    let back = z - z_at(low);
    let fore = z_at(high) - z;
    if after && !(before && abs(back) < abs(fore)) {{
        return Pair(q, high, fore);
    }}
    return Pair(low, q, back);
}}
fn surface_at(q: vec2<u32>, id: f32) -> Surface {{
    let z = z_at(q);
    let ex = nearer(q, z, vec2(1u, 0u), q.x > 0u, q.x + 1u < p.width);
    let ey = nearer(q, z, vec2(0u, 1u), q.y > 0u, q.y + 1u < p.height);
    let n = {normal};
    let long = length(n);
    var s: Surface;
    s.n = select(vec3(0.0), n / long, vec3(long > 0.0));
    s.z = z;
    s.g = vec2(ex.rise, ey.rise);
    s.o = select(0u, u32(max(id, 0.0)) + 1u, id >= 0.0 && id < 65535.0 && floor(id) == id);
    return s;
}}
"
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
    let (note, keep) = match lights {
        true => (
            "        taps_at[k] = there;\n        taps_weight[k] = w;\n",
            "    taps_weight /= weights;\n    taps_alpha = alpha;\n",
        ),
        false => ("", ""),
    };
    format!(
        "{}const LOCAL: bool = {local};\nconst MIRROR: bool = false;\n{}
fn alike(a: Surface, b: Surface) -> bool {{
    let near = abs(a.z - b.z) <= {DEPTH_CHANGE:?} * abs(a.z) + 2.0 * (abs(a.g.x) + abs(a.g.y));
    return near && (all(a.n == b.n) || dot(a.n, b.n) >= {NORMAL_CHANGE:?});
}}
fn blend(q: vec2<u32>, own: Surface, id: f32, now: Seen) -> Seen {{
    let far = vec2(f32(p.width), f32(p.height)) + 1.0;
    let place = clamp(vec2<f32>(q) + motion_at(q).xy, vec2(-2.0), far);
    var color = vec3(0.0);
    var past = vec3(0.0);
    var weights = 0.0;
    for (var k = 0; k < 4; k++) {{
        let at = floor(place) + vec2(f32(k % 2), f32(k / 2));
        if any(at < vec2(0.0)) || at.x >= f32(p.width) || at.y >= f32(p.height) {{
            continue;
        }}
        let t = vec2<u32>(at);
        let j = t.y * p.width + t.x;
        let m = old_moments[j];
        if m.z <= 0.0 || m.w != id || !alike(own, unpacked(old_features[j])) {{
            continue;
        }}
        let w = (1.0 - abs(place.x - at.x)) * (1.0 - abs(place.y - at.y));
        let there = phase_place(p.height, t.y, {level}u) * p.width + phase_place(p.width, t.x, {level}u);
{note}        color += w * four(old_color[there]).xyz;
        past += w * m.xyz;
        weights += w;
    }}
    if weights <= {TAPS_LEAST:?} {{
        return now;
    }}
    color /= weights;
    past /= weights;
    let frames = min(past.z + 1.0, {MOST_FRAMES:?});
    let alpha = max({alpha:?}, 1.0 / frames);
{keep}    let m = past.xy + alpha * (now.m.xy - past.xy);
    let variance = max((m.y - m.x * m.x) / min(frames, {deepest:?}), 0.0);
    return Seen(vec4(color + alpha * (now.c.xyz - color), variance), vec3(m, frames));
}}
",
        four(old_color),
        include_str!("../atrous/phases.wgsl"),
        alpha = past.alpha,
        deepest = deepest(past.alpha),
    )
}

pub(super) fn temporal(kernel: &Temporal, site: &Site<'_>) -> Dispatch {
    let (names, layers) = layers(kernel, site);
    let mut declarations = format!(
        "{layers}{}{}{}// Light with its variance; moments.
struct Seen {{
    c: vec4<f32>,
    m: vec3<f32>,
}}
",
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
        // Where history comes from, and the share of the new frame.
        declarations.push_str(
            "var<private> taps_at: array<u32, 4>;
var<private> taps_weight: vec4<f32>;
var<private> taps_alpha: f32 = 1.0;
",
        );
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
    let power = 1u32 << kernel.squarings;
    let body = format!(
        "    let frames = moments[i].z;
    if frames >= {SHORT:?} {{
        return;
    }}
    let a = unpacked(features[i]);
    var sums = vec2(0.0);
    var weights = 0.0;
    for (var qy = max(y - {WINDOW}, 0); qy <= min(y + {WINDOW}, i32(p.height) - 1); qy++) {{
        for (var qx = max(x - {WINDOW}, 0); qx <= min(x + {WINDOW}, i32(p.width) - 1); qx++) {{
            let q = u32(qy) * p.width + u32(qx);
            let b = unpacked(features[q]);
            let slope = dot(a.g, vec2(f32(qx - x), f32(qy - y)));
            let allowed = {depth:?} * abs(slope) + {DEPTH_LEAST:?} * abs(a.z) + 1e-6;
            var w = fast_exp(-abs(a.z - b.z) / allowed);
            w *= exp2({power}.0 * log2(max(dot(a.n, b.n), 1e-10)));
            w = select(w, 0.0, a.o != b.o && a.o != 0u && b.o != 0u);
            w = select(w, 1.0, q == i);
            sums += w * moments[q].xy;
            weights += w;
        }}
    }}
    let mean = sums.x / weights;
    let variance = max((sums.y / weights - mean * mean) * ({SHORT:?} / frames), 0.0);
    {store}
",
        depth = kernel.depth
    );
    each(site, &["features", "moments", "payload"], PACKING, &body)
}
