//! The GPU bodies.

use super::Resolve;
use crate::definition::taa::LEAST_SCALE;
use crate::kernel::{Dispatch, Site, WgslStruct, tiles};
use crate::params;
use crate::plan::Home;

params! {
    /// Parameters of all shaders.
    struct Params { width: u32, height: u32, gamma: f32, blend: f32, radius: i32, highlights: f32, soften: f32 }
}

const MAIN: &str = "@compute @workgroup_size(256)\n\
    fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n    \
    let x = i32(group.x * 32u + lane % 32u);\n    let y = i32(group.y * 8u + lane / 32u);\n    \
    if x >= i32(p.width) || y >= i32(p.height) { return; }\n    let at = y * i32(p.width) + x;\n";

fn dispatch(site: &Site<'_>, source: String, kernel: &Resolve) -> Dispatch {
    let size = site.writes[0].size;
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        gamma: kernel.gamma,
        blend: kernel.blend,
        radius: kernel.window.unwrap_or(0) as i32,
        highlights: kernel.highlights,
        soften: kernel.soften,
    };
    Dispatch::compute(source, &params, tiles(size, 32, 8))
}

/// Declares the bindings and, for each that is read, a function that gives up to three channels of a pixel.
fn bindings(site: &Site<'_>, reads: &[&str], writes: &[&str], planes: usize) -> String {
    let mut text = String::from(Params::WGSL);
    for (i, (name, slot)) in reads.iter().zip(&site.reads).enumerate() {
        let binding = i + 1;
        if slot.home != Home::Buffer {
            text += &format!(
                "@group(0) @binding({binding}) var {name}: texture_2d<f32>;
fn {name}_at(at: i32) -> vec3<f32> {{
    let w = i32(p.width);
    return textureLoad({name}, vec2(at % w, at / w), 0).xyz;
}}
"
            );
            continue;
        }
        let channels = if *name == "motion" { 2 } else { planes };
        let value = |plane: usize| match plane {
            p if p < channels => format!("{name}[at + {p} * i32(p.width * p.height)]"),
            _ => "0.0".to_owned(),
        };
        text += &format!(
            "@group(0) @binding({binding}) var<storage, read> {name}: array<f32>;\n\
             fn {name}_at(at: i32) -> vec3<f32> {{ return vec3<f32>({}, {}, {}); }}\n",
            value(0),
            value(1),
            value(2)
        );
    }
    for (i, name) in writes.iter().enumerate() {
        text += &format!(
            "@group(0) @binding({}) var<storage, read_write> {name}: array<f32>;\n",
            reads.len() + 1 + i
        );
    }
    text
}

/// Declares `convert` and `back`: to luma and differences, bright colours compressed, and back.
fn colors(planes: usize) -> String {
    let (to, from) = if planes == 3 {
        (
            "vec3<f32>(0.25 * c.r + 0.5 * c.g + 0.25 * c.b, 0.5 * c.r - 0.5 * c.b, -0.25 * c.r + 0.5 * c.g - 0.25 * c.b)",
            "vec3<f32>(v.x + v.y - v.z, v.x + v.z, v.x - v.y - v.z)",
        )
    } else {
        ("c", "v")
    };
    format!(
        "fn convert(c: vec3<f32>) -> vec3<f32> {{
    let v = {to};
    return v * (1.0 / (1.0 + p.highlights * max(v.x, 0.0)));
}}
fn back(c: vec3<f32>) -> vec3<f32> {{
    let v = c * (1.0 / max(1.0 - p.highlights * max(c.x, 0.0), {LEAST_SCALE:?}));
    return {from};
}}
"
    )
}

/// Writes the planes of a value.
fn store(to: &str, value: &str, planes: usize) -> String {
    (0..planes)
        .map(|plane| {
            format!("    {to}[at + {plane} * i32(p.width * p.height)] = {value}[{plane}];\n")
        })
        .collect()
}

/// What kernels without a window have for parameters.
const PLAIN: Resolve = Resolve {
    gamma: 0.0,
    blend: 0.0,
    highlights: 0.0,
    soften: 0.0,
    window: None,
    motion: false,
    history: false,
};

pub(super) fn convert(highlights: f32, site: &Site<'_>) -> Dispatch {
    let planes = site.reads[0].planes;
    let source = format!(
        "{}{}{MAIN}    let made = convert(color_at(at));\n{}}}\n",
        bindings(site, &["color"], &["dst"], planes),
        colors(planes),
        store("dst", "made", planes)
    );
    let kernel = Resolve {
        highlights,
        ..PLAIN
    };
    dispatch(site, source, &kernel)
}

/// Mean and deviation of the window, made here.
const STATISTICS: &str = "    var sum = vec3<f32>(0.0);\n    var squares = vec3<f32>(0.0);\n    var count = 0.0;\n    \
    for (var j = max(y - p.radius, 0); j <= min(y + p.radius, i32(p.height) - 1); j++) {\n        \
    for (var i = max(x - p.radius, 0); i <= min(x + p.radius, i32(p.width) - 1); i++) {\n            \
    let c = convert(color_at(j * i32(p.width) + i));\n            \
    sum += c;\n            squares += c * c;\n            count += 1.0;\n        }\n    }\n    \
    let mean = sum / count;\n    \
    let spread = max(squares / count - mean * mean, vec3<f32>(0.0));\n    \
    let deviation = select(sqrt(spread), vec3<f32>(0.0), count < 1.5);\n";

pub(super) fn resolve(kernel: &Resolve, site: &Site<'_>) -> Dispatch {
    let planes = site.writes[0].planes;
    let alone = if kernel.soften > 0.0 {
        SOFTENED
    } else {
        "        made = raw;\n        kept = convert(raw);\n"
    };
    if !kernel.history {
        let source = format!(
            "{}{}{MAIN}    let raw = color_at(at);
    var made: vec3<f32>;
    var kept: vec3<f32>;
{alone}{}}}
",
            bindings(site, &["color"], &["dst"], planes),
            colors(planes),
            store("dst", "made", planes)
        );
        return dispatch(site, source, kernel);
    }
    let mut reads = vec!["color", "history"];
    let statistics = match kernel.window {
        Some(_) => STATISTICS,
        None => {
            reads.extend(["mu", "sigma"]);
            "    let mean = mu_at(at);\n    let deviation = sigma_at(at);\n"
        }
    };
    let moved = if kernel.motion {
        reads.push("motion");
        "motion_at(at).xy"
    } else {
        "vec2<f32>(0.0)"
    };
    let source = format!(
        "{}{}fn old(x: f32, y: f32, place: vec2<f32>) -> vec4<f32> {{
    if x < 0.0 || y < 0.0 || x >= f32(p.width) || y >= f32(p.height) {{
        return vec4<f32>(0.0);
    }}
    let at = i32(y) * i32(p.width) + i32(x);
    let w = (1.0 - abs(place.x - x)) * (1.0 - abs(place.y - y)) * history[at + {planes} * i32(p.width * p.height)];
    return w * vec4<f32>(history_at(at), 1.0);
}}
{MAIN}    let raw = color_at(at);
    let far = vec2<f32>(f32(p.width), f32(p.height)) + 1.0;
    let place = clamp(vec2<f32>(f32(x), f32(y)) + {moved}, vec2<f32>(-2.0), far);
    let b = floor(place);
    let h = old(b.x, b.y, place) + old(b.x + 1.0, b.y, place) + old(b.x, b.y + 1.0, place) + old(b.x + 1.0, b.y + 1.0, place);
    var made: vec3<f32>;
    var kept: vec3<f32>;
    if h.a > 1e-3 {{
{statistics}        let away = h.rgb / h.a - mean;
        let over = abs(away) / max(p.gamma * deviation, vec3<f32>(1e-8));
        let clipped = mean + away / max(1.0, max(over.x, max(over.y, over.z)));
        kept = clipped + p.blend * (convert(raw) - clipped);
        made = back(kept);
    }} else {{
{alone}    }}
{}{}    last[at + {planes} * i32(p.width * p.height)] = 1.0;
}}
",
        bindings(site, &reads, &["dst", "last"], planes),
        colors(planes),
        store("dst", "made", planes),
        store("last", "kept", planes),
    );
    dispatch(site, source, kernel)
}

/// The frame alone, with a share of its neighbours.
const SOFTENED: &str = "        var weights = 0.0;
        for (var j = max(y - 1, 0); j <= min(y + 1, i32(p.height) - 1); j++) {
            for (var i = max(x - 1, 0); i <= min(x + 1, i32(p.width) - 1); i++) {
                let w = select(1.0, p.soften, i != x) * select(1.0, p.soften, j != y);
                kept += w * convert(color_at(j * i32(p.width) + i));
                weights += w;
            }
        }
        kept /= weights;
        made = back(kept);
";
