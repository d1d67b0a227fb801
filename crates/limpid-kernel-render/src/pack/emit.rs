//! Generates the WGSL of packing and unpacking.

use super::{Pack, PackFeatures, PackedAt, Packing, Unpack};
use limpid_core::LUMINANCE;
use limpid_plan::params;
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_plan::{Backing, Element, Order, Slot};
use limpid_plan::{Dispatch, PassSlots, WgslStruct};
use limpid_reference::definition::atrous::BLACK;

params! {
    /// Pixels of the image, threads along x, and the size of the image.
    struct Params { count: u32, across: u32, width: u32, height: u32 }
}

/// Threads of a workgroup.
const THREADS: u32 = 256;

/// A shader that runs `body` for each pixel `i`.
pub(super) fn each(pass: &PassSlots<'_>, names: &[&str], body: Code) -> Dispatch {
    each_with(Wgsl::default(), pass, names, body)
}

/// The same, preceded by declarations that `body` uses.
fn each_with(text: Wgsl, pass: &PassSlots<'_>, names: &[&str], body: Code) -> Dispatch {
    let size = pass.writes[0].size;
    let count = size.pixels() as u32;
    let groups = count.div_ceil(THREADS);
    let across = groups.min(32_768);
    let params = Params {
        count,
        across: across * THREADS,
        width: size.width as u32,
        height: size.height as u32,
    };
    let source = text
        .body(Params::WGSL)
        .slots(pass, names)
        .constant("BLACK", "f32", format_args!("{BLACK:?}"))
        .constant("THREADS", "u32", THREADS)
        .statements("pixel(i: u32)", body)
        .body(include_str!("each.wgsl"));
    Dispatch::compute(source.text(), &params, [across, groups.div_ceil(across), 1])
}

/// A value of a layer, divided by albedo.
fn value(packed_at: PackedAt, k: usize, albedo_planes: usize) -> String {
    let layer = format!("layer[{k}u * p.count + i]");
    let a = k.min(albedo_planes.max(1) - 1);
    if packed_at.albedo {
        format!("{layer} / divisor(albedo[{a}u * p.count + i])")
    } else {
        layer
    }
}

fn albedo_planes(pass: &PassSlots<'_>) -> usize {
    pass.reads.get(1).map_or(1, |s| s.planes)
}

/// Packs into a planar slot, for filters that work on planes.
fn pack_plane(kernel: &Pack, pass: &PassSlots<'_>) -> Dispatch {
    let packed_at = kernel.packed_at;
    let mut body = Code::default();
    for k in 0..packed_at.channels {
        let (plane, value) = (
            packed_at.plane + k,
            value(packed_at, k, albedo_planes(pass)),
        );
        body.say(format_args!("slot[{plane}u * p.count + i] = {value}"));
    }
    each(pass, names(packed_at, true), body)
}

fn unpack_plane(kernel: &Unpack, pass: &PassSlots<'_>) -> Dispatch {
    let packed_at = kernel.packed_at;
    let (mut body, albedo) = albedo(kernel, pass);
    for k in 0..packed_at.channels {
        let factor = if packed_at.albedo {
            format!(" * {}", albedo(k))
        } else {
            String::new()
        };
        let plane = packed_at.plane + k;
        body.say(format_args!(
            "layer[{k}u * p.count + i] = slot[{plane}u * p.count + place(i)]{factor}"
        ));
    }
    each_with(places(kernel), pass, names(packed_at, false), body)
}

/// `place(i)`: the position of pixel `i` in the slot.
fn places(kernel: &Unpack) -> Wgsl {
    let text = Wgsl::default();
    match kernel.order {
        Some(order) => text
            .constant("LEVEL", "u32", order.level)
            .constant("LOCAL", "bool", order.order == Order::Local)
            .constant("MIRROR", "bool", order.mirror)
            .body(include_str!("../atrous/phases.wgsl"))
            .body(include_str!("ordered.wgsl")),
        None => text.function("place(i: u32) -> u32", "i"),
    }
}

/// The factor applied when unpacking: the code that reads it, and the expression for one of its channels.
fn albedo(kernel: &Unpack, pass: &PassSlots<'_>) -> (Code, impl Fn(usize) -> String) {
    let slot = pass.reads.get(1).filter(|_| kernel.packed_at.albedo);
    let exact = kernel.exact;
    let texture = slot.is_some_and(|s| s.backing != Backing::Buffer);
    let planes = albedo_planes(pass);
    let mut read = Code::default();
    if texture {
        read.say("let across = textureDimensions(albedo).x")
            .say("let texel = textureLoad(albedo, vec2(i % across, i / across), 0)");
    }
    let channel = move |k: usize| {
        let channel = match texture {
            true => format!("texel[{k}]"),
            false => format!("albedo[{}u * p.count + i]", k.min(planes - 1)),
        };
        match exact {
            true => channel,
            false => format!("divisor({channel})"),
        }
    };
    (read, channel)
}

/// Names of the bindings.
fn names(packed_at: PackedAt, packs: bool) -> &'static [&'static str] {
    match (packed_at.albedo, packs) {
        (true, true) => &["layer", "albedo", "slot"],
        (false, true) => &["layer", "slot"],
        (true, false) => &["slot", "albedo", "layer"],
        (false, false) => &["slot", "layer"],
    }
}

pub(super) fn pack(kernel: &Pack, pass: &PassSlots<'_>) -> Dispatch {
    let (packed_at, slot) = (kernel.packed_at, pass.writes[0]);
    if slot.element == Element::F32 {
        return pack_plane(kernel, pass);
    }
    let half = slot.element == Element::F16x4;
    let mut body = Code::default();
    if kernel.first {
        for v in 0..slot.planes {
            let zero = if half { "vec2(0u)" } else { "vec4(0.0)" };
            body.say(format_args!("slot[{v}u * p.count + i] = {zero}"));
        }
    }
    let at = format!("slot[{}u * p.count + i]", packed_at.vector);
    body.say(format_args!("var v = {}", unstored(slot, &at)));
    if packed_at.variance {
        let planes = albedo_planes(pass);
        let part = |k: usize| {
            let weight = if packed_at.channels == 3 {
                LUMINANCE[k]
            } else {
                1.0
            };
            let a = k.min(planes - 1);
            let a = if packed_at.albedo {
                format!("divisor(albedo[{a}u * p.count + i])")
            } else {
                "1.0".into()
            };
            format!("layer[{k}u * p.count + i] * pow2({weight:?} / {a})")
        };
        let parts: Vec<String> = (0..packed_at.channels).map(part).collect();
        body.say(format_args!(
            "v[{}] = {}",
            packed_at.lane,
            parts.join(" + ")
        ));
    } else {
        for k in 0..packed_at.channels {
            let value = value(packed_at, k, albedo_planes(pass));
            body.say(format_args!("v[{}] = {value}", packed_at.lane + k));
        }
    }
    body.say(format_args!("{at} = {}", stored(slot, "v")));
    each(pass, names(packed_at, true), body)
}

pub(super) fn unpack(kernel: &Unpack, pass: &PassSlots<'_>) -> Dispatch {
    let (packed_at, slot) = (kernel.packed_at, pass.reads[0]);
    if slot.element == Element::F32 {
        return unpack_plane(kernel, pass);
    }
    let at = format!("slot[{}u * p.count + place(i)]", packed_at.vector);
    let (mut body, a) = albedo(kernel, pass);
    let mut v = unstored(slot, &at);
    if kernel.exact {
        v = format!("max({v}, vec4(0.0))");
    }
    body.say(format_args!("let v = {v}"));
    for k in 0..pass.writes[0].planes {
        let factor = match (packed_at.albedo, packed_at.variance) {
            (false, _) => String::new(),
            (true, false) => format!(" * {}", a(k)),
            (true, true) => {
                let [r, g, b] = LUMINANCE;
                let [x, y, z] = [a(0), a(1), a(2)];
                body.say(format_args!(
                    "let y = {r:?} * {x} + {g:?} * {y} + {b:?} * {z}"
                ));
                " * y * y".into()
            }
        };
        let lane = packed_at.lane + k;
        body.say(format_args!(
            "layer[{k}u * p.count + i] = v[{lane}]{factor}"
        ));
    }
    each_with(places(kernel), pass, names(packed_at, false), body)
}

fn stored(slot: &Slot, v: &str) -> String {
    match slot.element {
        Element::F16x4 => format!("half4({v})"),
        _ => v.to_owned(),
    }
}

fn unstored(slot: &Slot, at: &str) -> String {
    match slot.element {
        Element::F16x4 => format!("full4({at})"),
        _ => at.to_owned(),
    }
}

pub(super) fn features(kernel: &PackFeatures, pass: &PassSlots<'_>) -> Dispatch {
    let names = ["in0", "in1", "in2", "in3"];
    let end = kernel.layers.iter().map(|(first, planes)| first + planes);
    let mut channels = vec!["0.0".to_owned(); end.max().unwrap_or(0)];
    for (name, (first, planes)) in names.iter().zip(&kernel.layers) {
        for k in 0..*planes {
            channels[first + k] = format!("{name}[{k}u * p.count + i]");
        }
    }
    let mut body = Code::default();
    match kernel.packing {
        Packing::Full if pass.writes[0].element == Element::F32 => {
            for (plane, channel) in channels.iter().enumerate() {
                body.say(format_args!("slot[{plane}u * p.count + i] = {channel}"));
            }
        }
        Packing::Full => {
            for (v, lanes) in channels.chunks(4).enumerate() {
                let mut lanes = lanes.to_vec();
                lanes.resize(4, "0.0".into());
                let lanes = lanes.join(", ");
                body.say(format_args!("slot[{v}u * p.count + i] = vec4({lanes})"));
            }
        }
        Packing::Packed => {
            let lane = |k: usize| channels.get(k).cloned().unwrap_or("0.0".into());
            let pair = |a, b| format!("pack2x16float(vec2({}, {}))", lane(a), lane(b));
            let [a, b, c] = [pair(0, 1), pair(2, 4), pair(5, 6)];
            let last = lane(3);
            body.say(format_args!(
                "slot[i] = vec4({a}, {b}, {c}, bitcast<u32>({last}))"
            ));
        }
    }
    let mut all: Vec<&str> = names[..kernel.layers.len()].to_vec();
    all.push("slot");
    each(pass, &all, body)
}
