//! The GPU bodies.

use super::{From, Gather, Spread, Temporal};
use crate::definition::atrous::BLACK;
use crate::definition::svgf::{
    DEPTH_CHANGE, DEPTH_LEAST, MOST_FRAMES, NORMAL_CHANGE, TAPS_LEAST, WINDOW, YOUNG, deepest,
};
use crate::kernel::atrous::light_weights;
use crate::kernel::{Dispatch, Site, WgslStruct, tiles};
use crate::params;
use crate::plan::{Element, Order, Slot};
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
        let _ = writeln!(
            s,
            "@group(0) @binding({}) var<storage, {access}> {name}: array<{}>;",
            i + 1,
            slot.element.wgsl()
        );
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
    Dispatch::compute(s, &params, tiles(size, 32, 8))
}

/// A value of a planar layer.
fn plane(name: &str, k: usize, at: &str) -> String {
    format!("{name}[{k}u * p.width * p.height + {at}]")
}

/// Up to three planes of a layer.
fn three(name: &str, planes: usize, at: &str) -> String {
    let value = |k: usize| match k {
        k if k < planes => plane(name, k, at),
        _ => "0.0".into(),
    };
    format!("vec3({}, {}, {})", value(0), value(1), value(2))
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

pub(super) fn gather(kernel: &Gather, site: &Site<'_>) -> Dispatch {
    let all = ["albedo", "normal", "depth", "position", "ids"];
    let mut names = vec!["color"];
    names.extend(
        all.iter()
            .zip(kernel.layers())
            .filter_map(|(name, used)| used.then_some(*name)),
    );
    names.extend(["light", "features"]);
    let depth = match kernel.depth {
        From::Layer => "depth[i]".to_owned(),
        From::Position => "length(place_at(i))".to_owned(),
    };
    let mut text = String::from(PACKING);
    if kernel.layers()[3] {
        let _ = writeln!(
            text,
            "fn place_at(i: u32) -> vec3<f32> {{\n    return {};\n}}",
            three("position", 3, "i")
        );
    }
    let _ = writeln!(
        text,
        "fn depth_at(i: u32) -> f32 {{
    return {depth};
}}
// The pixel and the neighbour along an axis that is nearer in depth, in order.
fn nearer(i: u32, at: u32, end: u32, step: u32) -> vec2<u32> {{
    let before = at > 0u;
    let after = at + 1u < end;
    if !before && !after {{
        return vec2(i, i);
    }}
    if before && after {{
        let z = depth_at(i);
        if abs(depth_at(i - step) - z) < abs(depth_at(i + step) - z) {{
            return vec2(i - step, i);
        }}
        return vec2(i, i + step);
    }}
    return select(vec2(i - step, i), vec2(i, i + step), vec2(after));
}}"
    );
    let normal = match kernel.normal {
        From::Layer => three("normal", 3, "i"),
        From::Position => {
            "cross(place_at(ex.y) - place_at(ex.x), place_at(ey.y) - place_at(ey.x))".into()
        }
    };
    let color = three("color", kernel.colors, "i");
    let divided = if kernel.albedo {
        format!(
            "let a = {};\n    let c = {color} / select(vec3(1.0), a, a > vec3({BLACK:?}));",
            three("albedo", kernel.colors.max(1), "i")
        )
    } else {
        format!("let c = {color};")
    };
    let id = if kernel.id { "ids[i]" } else { "0.0" };
    let body = format!(
        "    let ex = nearer(i, u32(x), p.width, 1u);
    let ey = nearer(i, u32(y), p.height, p.width);
    let n = {normal};
    let long = length(n);
    var s: Surface;
    s.n = select(vec3(0.0), n / long, vec3(long > 0.0));
    s.z = depth_at(i);
    s.g = vec2(depth_at(ex.y) - depth_at(ex.x), depth_at(ey.y) - depth_at(ey.x));
    let id = {id};
    s.o = select(0u, u32(max(id, 0.0)) + 1u, id >= 0.0 && id < 65535.0 && floor(id) == id);
    features[i] = packed(s);
    {divided}
    light[i] = vec4(c, id);
"
    );
    each(site, &names, &text, &body)
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

pub(super) fn temporal(kernel: &Temporal, site: &Site<'_>) -> Dispatch {
    let names = [
        "light",
        "features",
        "motion",
        "old_color",
        "old_moments",
        "old_features",
        "dst",
        "moments",
    ];
    let (level, local) = kernel
        .order
        .map_or((0, false), |o| (o.level, o.order == Order::Local));
    let declarations = format!(
        "{PACKING}{}{}const LOCAL: bool = {local};\nconst MIRROR: bool = false;\n{}
fn alike(a: Surface, b: Surface) -> bool {{
    let near = abs(a.z - b.z) <= {DEPTH_CHANGE:?} * abs(a.z) + 2.0 * (abs(a.g.x) + abs(a.g.y));
    return near && (all(a.n == b.n) || dot(a.n, b.n) >= {NORMAL_CHANGE:?});
}}
",
        light(kernel.colors),
        four(site.reads[3]),
        include_str!("../atrous/phases.wgsl"),
    );
    let body = format!(
        "    let fresh = light[i];
    let own = unpacked(features[i]);
    let moved = vec2(motion[i], motion[p.width * p.height + i]);
    let far = vec2(f32(p.width), f32(p.height)) + 1.0;
    let place = clamp(vec2(f32(x), f32(y)) + moved, vec2(-2.0), far);
    var color = vec3(0.0);
    var past = vec3(0.0);
    var weights = 0.0;
    for (var k = 0; k < 4; k++) {{
        let at = floor(place) + vec2(f32(k % 2), f32(k / 2));
        if any(at < vec2(0.0)) || at.x >= f32(p.width) || at.y >= f32(p.height) {{
            continue;
        }}
        let q = vec2<u32>(at);
        let m = old_moments[q.y * p.width + q.x];
        if m.z <= 0.0 || m.w != fresh.w || !alike(own, unpacked(old_features[q.y * p.width + q.x])) {{
            continue;
        }}
        let w = (1.0 - abs(place.x - at.x)) * (1.0 - abs(place.y - at.y));
        let there = phase_place(p.height, q.y, {level}u) * p.width + phase_place(p.width, q.x, {level}u);
        color += w * four(old_color[there]).xyz;
        past += w * m.xyz;
        weights += w;
    }}
    let l = luminance(fresh.xyz);
    var made = fresh.xyz;
    var m = vec3(l, l * l, 1.0);
    if weights > {TAPS_LEAST:?} {{
        color /= weights;
        past /= weights;
        let frames = min(past.z + 1.0, {MOST_FRAMES:?});
        let alpha = max({alpha:?}, 1.0 / frames);
        made = color + alpha * (made - color);
        m = vec3(past.xy + alpha * (m.xy - past.xy), frames);
    }}
    dst[i] = vec4(made, fresh.w);
    moments[i] = vec4(m, fresh.w);
",
        alpha = kernel.alpha
    );
    each(site, &names, &declarations, &body)
}

pub(super) fn spread(kernel: &Spread, site: &Site<'_>) -> Dispatch {
    let names: &[&str] = if kernel.history {
        &[
            "light",
            "features",
            "moments",
            "dst",
            "moments_dst",
            "features_dst",
        ]
    } else {
        &["light", "features", "dst"]
    };
    let mut declarations = format!("{PACKING}{}", light(kernel.colors));
    declarations.push_str(if kernel.history {
        "fn moments_at(i: u32) -> vec3<f32> {\n    return moments[i].xyz;\n}\n"
    } else {
        "fn moments_at(i: u32) -> vec3<f32> {\n    let l = luminance(light[i].xyz);\n    return vec3(l, l * l, 1.0);\n}\n"
    });
    let value = match site.writes[0].element {
        Element::F16x4 => {
            "let c = clamp(made, vec4(-65504.0), vec4(65504.0));\n    dst[i] = vec2(pack2x16float(c.xy), pack2x16float(c.zw));"
        }
        _ => "dst[i] = made;",
    };
    let keep = if kernel.history {
        "    moments_dst[i] = moments[i];\n    features_dst[i] = features[i];\n"
    } else {
        ""
    };
    let power = 1u32 << kernel.squarings;
    let body = format!(
        "    let own = moments_at(i);
    var variance = (own.y - own.x * own.x) / min(own.z, {deepest:?});
    if own.z < {YOUNG:?} {{
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
                sums += w * moments_at(q).xy;
                weights += w;
            }}
        }}
        let mean = sums.x / weights;
        variance = (sums.y / weights - mean * mean) * ({YOUNG:?} / own.z);
    }}
    let made = vec4(light[i].xyz, max(variance, 0.0));
    {value}
{keep}",
        deepest = deepest(kernel.alpha),
        depth = kernel.depth
    );
    each(site, names, &declarations, &body)
}
