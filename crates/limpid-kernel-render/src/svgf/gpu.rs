//! The GPU bodies.

use super::{Across, Change, MOMENTS, Origin, Past, SpatialVariance, Temporal};
use crate::atrous::light_weights;
use limpid_plan::params;
use limpid_plan::wgsl::{Code, PIXELS, Wgsl, float};
use limpid_plan::{Backing, Element, Order, Slot};
use limpid_plan::{Dispatch, Need, PassSlots, WgslStruct, tiles};
use limpid_reference::definition::atrous::BLACK;
use limpid_reference::definition::svgf::{
    AROUND, CHANGE, CHANGE_LEAST, DEPTH_CHANGE, DEPTH_LEAST, MIRROR_ALPHA, MIRROR_VARIANCE,
    MOST_FRAMES, NORMAL_CHANGE, SHORT, TAPS_LEAST, WINDOW, deepest,
};

params! {
    /// Size of the frame.
    struct Params { width: u32, height: u32 }
}

/// The start of a shader with these names for its slots. Defines `four`, `put` and `put_variance` for the payload.
fn begun(pass: &PassSlots<'_>, names: &[&str]) -> Wgsl {
    Wgsl::default()
        .body(Params::WGSL)
        .slots(pass, names)
        .body(match pass.writes[0].element {
            Element::F16x4 => include_str!("half.wgsl"),
            _ => include_str!("full.wgsl"),
        })
        .body(include_str!("surface.wgsl"))
}

/// A shader that calls `pixel(x, y)` for each pixel.
fn each(pass: &PassSlots<'_>, text: Wgsl) -> Dispatch {
    let size = pass.writes[0].size;
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
    };
    Dispatch::compute(text.body(PIXELS).text(), &params, tiles(size, 32, 8))
}

/// `NAME_at(q)`: up to three channels of a layer at a pixel, zero beyond `planes`.
fn with_layer(text: Wgsl, slot: &Slot, name: &str, planes: usize) -> Wgsl {
    let texture = slot.backing != Backing::Buffer;
    let value = |k: usize| match k {
        k if k < planes && texture => format!("v[{k}]"),
        k if k < planes => format!("{name}[{k}u * p.width * p.height + i]"),
        _ => "0.0".to_owned(),
    };
    let mut code = Code::default();
    match texture {
        true => code.say(format_args!("let v = textureLoad({name}, q, 0)")),
        false => code.say("let i = q.y * p.width + q.x"),
    };
    let [x, y, z] = [0, 1, 2].map(value);
    code.say(format_args!("return vec3({x}, {y}, {z})"));
    text.statements(&format!("{name}_at(q: vec2<u32>) -> vec3<f32>"), code)
}

/// The layers that [`Temporal`] reads, with their planes, and the names of its slots.
fn layers(kernel: &Temporal) -> (Vec<(&'static str, usize)>, Vec<&'static str>) {
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
    let mut names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
    if kernel.past.is_some() {
        names.extend(["old_color", "old_features", "old_moments"]);
    }
    names.extend(["payload", "features", "moments"]);
    (all, names)
}

/// What [`Temporal`] relies on. On the CPU everything but the layers is planes, whose number follows from them.
pub(super) fn needs(kernel: &Temporal, pass: &PassSlots<'_>) -> Vec<Need> {
    let payload = pass.writes[0];
    let (size, planar) = (payload.size, payload.element == Element::F32);
    let four = |slot: &Slot, planes: usize, element: Element| match planar {
        true => Need::like(slot),
        false => Need::planes(size, planes).of(element),
    };
    let (layers, names) = layers(kernel);
    let mut needs = Vec::new();
    for (name, slot) in names.iter().zip(pass.all()) {
        let planes = layers.iter().find(|(layer, _)| layer == name);
        needs.push(match (*name, planes) {
            ("lights", _) => four(slot, payload.planes.max(1) - 1, Element::F32x4),
            (_, Some((_, planes))) => Need::planes(size, *planes),
            ("features" | "old_features", _) => four(slot, 1, Element::U32x4),
            ("moments" | "old_moments", _) => four(slot, 1, Element::F32x4),
            _ => four(slot, payload.planes, payload.element),
        });
    }
    needs
}

/// `surface_at(q)`: the features of a pixel of the frame.
fn with_surface(text: Wgsl, kernel: &Temporal) -> Wgsl {
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
    let id = match kernel.layers.id {
        true => "ids_at(q).x",
        false => "0.0",
    };
    text.function("id_at(q: vec2<u32>) -> f32", id)
        .function("z_at(q: vec2<u32>) -> f32", depth)
        .function(
            "normal_of(q: vec2<u32>, ex: Pair, ey: Pair) -> vec3<f32>",
            normal,
        )
        .body(include_str!("frame.wgsl"))
}

/// `blend(q, own, id, now)`: light and moments, blended with history.
fn with_blend(text: Wgsl, past: &Past, lights: bool) -> Wgsl {
    let order = past.order.map(|o| (o.level, o.order == Order::Local));
    let (level, local) = order.unwrap_or_default();
    text.constant("LOCAL", "bool", local)
        .constant("MIRROR", "bool", false)
        .constant("LEVEL", "u32", level)
        .constant("LIGHTS", "bool", lights)
        .constant("MIRRORS", "bool", past.mirrors)
        .constant("MIRROR_ALPHA", "f32", float(MIRROR_ALPHA))
        .constant("MIRROR_VARIANCE", "f32", float(MIRROR_VARIANCE))
        .constant("ALPHA", "f32", float(past.alpha))
        .constant("DEEPEST", "f32", float(deepest(past.alpha)))
        .constant("MOST_FRAMES", "f32", float(MOST_FRAMES))
        .constant("DEPTH_CHANGE", "f32", float(DEPTH_CHANGE))
        .constant("NORMAL_CHANGE", "f32", float(NORMAL_CHANGE))
        .constant("TAPS_LEAST", "f32", float(TAPS_LEAST))
        .body(include_str!("../atrous/phases.wgsl"))
        .body(include_str!("blend.wgsl"))
}

/// The light layers of a pixel, blended with their history.
fn put_lights(kernel: &Temporal, vectors: usize) -> Code {
    let mut code = Code::default();
    for vector in (1..vectors).filter(|_| kernel.lights) {
        let from = format!("{}u * p.width * p.height", vector - 1);
        let to = format!("{vector}u * p.width * p.height");
        code.say(format_args!("var light{vector} = lights[{from} + i]"));
        if kernel.past.is_some() {
            let tap = |k: usize| format!("taps_weight[{k}] * four(old_color[{to} + taps_at[{k}]])");
            let old = [0, 1, 2, 3].map(tap).join(" + ");
            code.block("if taps_alpha < 1.0", |code| {
                code.say(format_args!("let then = {old}"));
                code.say(format_args!(
                    "light{vector} = then + taps_alpha * (light{vector} - then)"
                ));
            });
        }
        code.say(format_args!("put({to} + i, light{vector})"));
    }
    code
}

pub(super) fn temporal(kernel: &Temporal, pass: &PassSlots<'_>) -> Dispatch {
    let (layers, names) = layers(kernel);
    let mut text = begun(pass, &names);
    for ((name, planes), slot) in layers.into_iter().zip(&pass.reads) {
        if name != "lights" {
            text = with_layer(text, slot, name, planes);
        }
    }
    text = with_surface(text, kernel);
    let blended = match &kernel.past {
        Some(past) => {
            text = with_blend(text, past, kernel.lights);
            "blend(q, own, id, now)"
        }
        None => "now",
    };
    let text = with_light(text, kernel.layers.colors, kernel.layers.albedo)
        .function(
            "blended(q: vec2<u32>, own: Surface, id: f32, now: Seen) -> Seen",
            blended,
        )
        .statements(
            "put_lights(i: u32)",
            put_lights(kernel, pass.writes[0].planes),
        )
        .body(include_str!("temporal.wgsl"));
    each(pass, text)
}

/// `light_at(q)`, and what it and `luminance` need.
fn with_light(text: Wgsl, colors: usize, albedo: bool) -> Wgsl {
    let light = match albedo {
        true => "divided(color_at(q), albedo_at(q))",
        false => "color_at(q)",
    };
    let [r, g, b] = light_weights(colors);
    let luminance = format!("vec3({r:?}, {g:?}, {b:?})");
    text.constant("BLACK", "f32", float(BLACK))
        .constant("LUMINANCE", "vec3<f32>", luminance)
        .function("light_at(q: vec2<u32>) -> vec3<f32>", light)
        .body(include_str!("light.wgsl"))
}

/// The four means of [`Across`], or moments.
fn means(slot: &Slot, planes: usize) -> Need {
    match slot.element {
        Element::F32 => Need::planes(slot.size, planes),
        _ => Need::planes(slot.size, 1).of(Element::F32x4),
    }
}

/// What [`Change`] relies on.
pub(super) fn change_needs(kernel: &Change, pass: &PassSlots<'_>) -> Vec<Need> {
    let payload = pass.writes[0];
    let share = match payload.element {
        Element::F32 => Need::planes(payload.size, kernel.colors + 1),
        element => Need::planes(payload.size, 1).of(element),
    };
    vec![
        means(pass.reads[0], MOMENTS),
        Need::planes(payload.size, 2),
        share,
    ]
}

pub(super) fn change(pass: &PassSlots<'_>) -> Dispatch {
    let pixels = (2 * AROUND + 1) * (2 * AROUND + 1);
    let text = begun(pass, &["across", "motion", "payload"])
        .constant("AROUND", "u32", AROUND)
        .constant("AROUND_PIXELS", "f32", float(pixels as f32))
        .constant("CHANGE", "f32", float(CHANGE))
        .constant("CHANGE_LEAST", "f32", float(CHANGE_LEAST));
    let text = with_layer(text, pass.reads[1], "motion", 2);
    each(pass, text.body(include_str!("change.wgsl")))
}

/// What [`Across`] relies on.
pub(super) fn across_needs(kernel: &Across, pass: &PassSlots<'_>) -> Vec<Need> {
    let out = pass.writes[0];
    let means = means(out, MOMENTS);
    let layers = 1 + usize::from(kernel.albedo);
    let layer = Need::planes(out.size, kernel.colors);
    let mut needs = vec![layer; layers];
    needs.extend([means; 2]);
    needs
}

pub(super) fn across(kernel: &Across, pass: &PassSlots<'_>) -> Dispatch {
    let layers: &[&str] = match kernel.albedo {
        true => &["color", "albedo"],
        false => &["color"],
    };
    let names = [layers, &["moments", "across"]].concat();
    let mut text = Wgsl::default().body(Params::WGSL).slots(pass, &names);
    for (name, slot) in layers.iter().zip(&pass.reads) {
        text = with_layer(text, slot, name, kernel.colors);
    }
    let text = with_light(text, kernel.colors, kernel.albedo)
        .constant("AROUND", "u32", AROUND)
        .body(include_str!("across.wgsl"));
    each(pass, text)
}

pub(super) fn spatial_variance(kernel: &SpatialVariance, pass: &PassSlots<'_>) -> Dispatch {
    let text = begun(pass, &["features", "moments", "payload"])
        .constant("WINDOW", "i32", WINDOW)
        .constant("SHORT", "f32", float(SHORT))
        .constant("DEPTH", "f32", float(kernel.depth))
        .constant("DEPTH_LEAST", "f32", float(DEPTH_LEAST))
        .constant("POWER", "f32", float((1u32 << kernel.squarings) as f32))
        .constant("MIRRORS", "bool", kernel.mirrors)
        .constant("MIRROR_VARIANCE", "f32", float(MIRROR_VARIANCE))
        .body(include_str!("spatial.wgsl"))
        .procedure(
            "pixel(x: u32, y: u32)",
            "spatial(i32(x), i32(y), y * p.width + x)",
        );
    each(pass, text)
}
