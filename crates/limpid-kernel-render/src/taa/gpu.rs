//! The GPU body.

use super::Resolve;
use limpid_plan::params;
use limpid_plan::wgsl::{Code, Wgsl, float};
use limpid_plan::{Backing, Element};
use limpid_plan::{Dispatch, PassSlots, WgslStruct, tiles};
use limpid_reference::definition::taa::{BEYOND, FAR, LEAST_SCALE, NARROWEST, NOTICED};

params! {
    /// Parameters of all shaders.
    struct Params { width: u32, height: u32, gamma: f32, blend: f32, highlights: f32, soften: f32 }
}

/// The widest window that is read through a tile.
const TILED: usize = 3;

pub(super) fn resolve(kernel: &Resolve, pass: &PassSlots<'_>) -> Dispatch {
    let planes = pass.writes[0].planes;
    let names = names(kernel);
    let mut text = Wgsl::default()
        .body(Params::WGSL)
        .constant("LEAST_SCALE", "f32", float(LEAST_SCALE))
        .slots(pass, &names);
    for (name, slot) in names.iter().zip(&pass.reads) {
        let channels = match *name {
            "motion" => 2,
            "depth" => 1,
            _ => planes,
        };
        let head = format!("{name}_at(at: i32) -> vec3<f32>");
        text = match (slot.backing, slot.element) {
            (Backing::Buffer, Element::F32x4) => text,
            (Backing::Buffer, _) => text.function(&head, values(name, channels)),
            _ => text.function(
                &head,
                format_args!(
                    "textureLoad({name}, vec2(at % i32(p.width), at / i32(p.width)), 0).xyz"
                ),
            ),
        };
    }
    text = match planes {
        3 => text.body(include_str!("opponent.wgsl")),
        _ => text
            .function("luma(c: vec3<f32>) -> f32", "c.r")
            .function("differences(c: vec3<f32>) -> vec3<f32>", "c")
            .function("colors(v: vec3<f32>) -> vec3<f32>", "v"),
    };
    text = text.body(include_str!("colors.wgsl"));
    text = match kernel.soften > 0.0 {
        true => text.body(include_str!("softened.wgsl")),
        false => text.function(
            "alone(here: vec2<i32>, size: vec2<i32>) -> vec3<f32>",
            "color_at(here.y * size.x + here.x)",
        ),
    };
    text = text.statements("put(at: i32, value: vec3<f32>)", store("dst", planes));
    text = match kernel.history {
        true => with_history(text, kernel, pass),
        false => text.body(include_str!("first.wgsl")),
    };
    let size = pass.writes[0].size;
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        gamma: kernel.gamma,
        blend: kernel.blend,
        highlights: kernel.highlights,
        soften: kernel.soften,
    };
    Dispatch::compute(text.text(), &params, tiles(size, 32, 8))
}

/// The names of all slots.
fn names(kernel: &Resolve) -> Vec<&'static str> {
    if !kernel.history {
        return vec!["color", "dst"];
    }
    let mut names = vec!["color", "history"];
    if kernel.window.is_none() {
        names.extend(["mu", "sigma"]);
    }
    names.extend(kernel.motion.then_some("motion"));
    names.extend(kernel.nearest.then_some("depth"));
    names.extend(["dst", "last"]);
    names
}

/// Blends with reprojected history.
fn with_history(mut text: Wgsl, kernel: &Resolve, pass: &PassSlots<'_>) -> Wgsl {
    let planes = pass.writes[0].planes;
    let radius = kernel.window.unwrap_or(0);
    text = text
        .constant("NARROWEST", "f32", float(NARROWEST))
        .constant("NOTICED", "f32", float(NOTICED))
        .constant("RADIUS", "i32", radius)
        .constant("CHROMA", "f32", float(kernel.chroma))
        .constant("DISCOUNT", "bool", kernel.discount)
        .structure(
            "Statistics",
            [("mean", "vec3<f32>"), ("deviation", "vec3<f32>")],
        )
        .body(match radius <= TILED {
            true => include_str!("tile.wgsl"),
            false => include_str!("wide.wgsl"),
        });
    text = match kernel.window {
        Some(_) => text.body(include_str!("statistics.wgsl")),
        None => text.function(
            "statistics(here: vec2<i32>, at: i32) -> Statistics",
            "Statistics(mu_at(at), sigma_at(at))",
        ),
    };
    if kernel.nearest {
        text = text
            .constant("FAR", "f32", float(FAR))
            .body(include_str!("nearest.wgsl"));
    }
    text = text.function(
        "moved(here: vec2<i32>, at: i32, size: vec2<i32>) -> vec2<f32>",
        match (kernel.motion, kernel.nearest) {
            (true, true) => "motion_at(nearest(here, size)).xy",
            (true, false) => "motion_at(at).xy",
            (false, _) => "vec2<f32>(0.0)",
        },
    );
    let whole = pass.reads[1].element == Element::F32x4;
    let ones = format!("[at + {planes} * i32(p.width * p.height)]");
    let mut old = Code::default();
    old.lines("let near = clamp(q, vec2<i32>(0), size - 1);\nlet at = near.y * size.x + near.x;");
    let mut keep = store("last", planes);
    if whole {
        old.say("return history[at]");
        keep = Code::default();
        keep.say("last[at] = vec4<f32>(value, 1.0)");
    } else {
        old.say(format_args!(
            "return vec4<f32>(history_at(at), history{ones})"
        ));
        keep.say(format_args!("last{ones} = 1.0"));
    }
    text = text
        .statements("old(q: vec2<i32>, size: vec2<i32>) -> vec4<f32>", old)
        .statements("keep(at: i32, value: vec3<f32>)", keep);
    text = match kernel.cubic {
        true => text
            .constant("BEYOND", "f32", float(BEYOND))
            .body(include_str!("cubic.wgsl")),
        false => text.body(include_str!("bilinear.wgsl")),
    };
    text.body(include_str!("resolve.wgsl"))
}

/// Up to three planes of an array at a pixel.
fn values(name: &str, channels: usize) -> String {
    let value = |plane: usize| match plane < channels {
        true => format!("{name}[at + {plane} * i32(p.width * p.height)]"),
        false => "0.0".to_owned(),
    };
    format!("vec3<f32>({}, {}, {})", value(0), value(1), value(2))
}

/// Writes the planes of `value`.
fn store(to: &str, planes: usize) -> Code {
    let mut code = Code::default();
    for plane in 0..planes {
        code.say(format_args!(
            "{to}[at + {plane} * i32(p.width * p.height)] = value[{plane}]"
        ));
    }
    code
}
