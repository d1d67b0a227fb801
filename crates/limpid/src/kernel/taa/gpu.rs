//! The GPU bodies.

use super::Resolve;
use crate::definition::taa::{BEYOND, FAR, LEAST_SCALE, NARROWEST};
use crate::kernel::{Dispatch, Site, WgslStruct, tiles};
use crate::params;
use crate::plan::{Element, Home};

params! {
    /// Parameters of all shaders.
    struct Params { width: u32, height: u32, gamma: f32, blend: f32, highlights: f32, soften: f32 }
}

fn dispatch(site: &Site<'_>, source: String, kernel: &Resolve) -> Dispatch {
    let size = site.writes[0].size;
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        gamma: kernel.gamma,
        blend: kernel.blend,
        highlights: kernel.highlights,
        soften: kernel.soften,
    };
    Dispatch::own(source, &params, tiles(size, 32, 8))
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
        if slot.element == Element::F32x4 {
            text += &format!(
                "@group(0) @binding({binding}) var<storage, read> {name}: array<vec4<f32>>;\n"
            );
            continue;
        }
        let channels = match *name {
            "motion" => 2,
            "depth" => 1,
            _ => planes,
        };
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
    for (i, (name, slot)) in writes.iter().zip(&site.writes).enumerate() {
        text += &format!(
            "@group(0) @binding({}) var<storage, read_write> {name}: array<{}>;\n",
            reads.len() + 1 + i,
            slot.element.wgsl()
        );
    }
    text
}

/// Declares `luma`, `convert` and `back`: to luma and differences, bright colours compressed, and back.
fn colors(planes: usize) -> String {
    let (luma, to, from) = if planes == 3 {
        (
            "0.25 * c.r + 0.5 * c.g + 0.25 * c.b",
            "vec3<f32>(luma(c), 0.5 * c.r - 0.5 * c.b, -0.25 * c.r + 0.5 * c.g - 0.25 * c.b)",
            "vec3<f32>(v.x + v.y - v.z, v.x + v.z, v.x - v.y - v.z)",
        )
    } else {
        ("c.r", "c", "v")
    };
    format!(
        "fn luma(c: vec3<f32>) -> f32 {{
    return {luma};
}}
fn scale(y: f32) -> f32 {{
    return 1.0 + p.highlights * max(y, 0.0);
}}
fn convert(c: vec3<f32>) -> vec3<f32> {{
    let v = {to};
    return v * (1.0 / scale(v.x));
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

/// The widest window that is read through a tile.
const TILED: usize = 3;

/// Declares `seen`: the colour in the blending space and a one, at a pixel; zeros outside. Returns what must precede its call.
///
/// Of a small window pixels are converted once, into a tile of the workgroup, not once for each pixel that sees them.
fn seen(radius: usize) -> (String, String) {
    if radius > TILED {
        let declared = "fn seen(q: vec2<i32>) -> vec4<f32> {
    if any(q < vec2<i32>(0)) || q.x >= i32(p.width) || q.y >= i32(p.height) {
        return vec4<f32>(0.0);
    }
    return vec4<f32>(convert(color_at(q.y * i32(p.width) + q.x)), 1.0);
}
";
        return (declared.into(), String::new());
    }
    let (wide, tall) = (32 + 2 * radius, 8 + 2 * radius);
    let all = wide * tall;
    let declared = format!(
        "var<workgroup> tile: array<vec4<f32>, {all}>;
var<private> corner: vec2<i32>;
fn seen(q: vec2<i32>) -> vec4<f32> {{
    return tile[(q.y - corner.y) * {wide} + q.x - corner.x];
}}
"
    );
    let filled = format!(
        "    corner = vec2<i32>(group.xy * vec2<u32>(32u, 8u)) - {radius};
    for (var i = lane; i < {all}u; i += 256u) {{
        let q = corner + vec2<i32>(vec2<u32>(i % {wide}u, i / {wide}u));
        let inside = all(q >= vec2<i32>(0)) && all(q < size);
        let near = clamp(q, vec2<i32>(0), size - 1);
        let c = convert(color_at(near.y * size.x + near.x));
        tile[i] = select(vec4<f32>(0.0), vec4<f32>(c, 1.0), inside);
    }}
    workgroupBarrier();
"
    );
    (declared, filled)
}

/// Mean and deviation of the window.
fn statistics(radius: usize) -> String {
    format!(
        "        var sum = vec4<f32>(0.0);
        var squares = vec3<f32>(0.0);
        for (var j = -{radius}; j <= {radius}; j++) {{
            for (var i = -{radius}; i <= {radius}; i++) {{
                let c = seen(here + vec2<i32>(i, j));
                sum += c;
                squares += c.xyz * c.xyz;
            }}
        }}
        let mean = sum.xyz / sum.w;
        let spread = max(squares / sum.w - mean * mean, vec3<f32>(0.0));
        let deviation = select(sqrt(spread), vec3<f32>(0.0), sum.w < 1.5);
"
    )
}

/// The frame alone, with a share of its neighbours; bright ones count less.
const SOFTENED: &str = "        var sum = vec4<f32>(0.0);
        for (var y = max(here.y - 1, 0); y <= min(here.y + 1, size.y - 1); y++) {
            for (var x = max(here.x - 1, 0); x <= min(here.x + 1, size.x - 1); x++) {
                let c = color_at(y * size.x + x);
                let share = select(1.0, p.soften, x != here.x) * select(1.0, p.soften, y != here.y);
                sum += share / scale(luma(c)) * vec4<f32>(c, 1.0);
            }
        }
        made = sum.xyz / sum.w;
        kept = convert(made);
";

pub(super) fn resolve(kernel: &Resolve, site: &Site<'_>) -> Dispatch {
    let planes = site.writes[0].planes;
    let alone = if kernel.soften > 0.0 {
        SOFTENED
    } else {
        "        made = color_at(at);\n        kept = convert(made);\n"
    };
    let (seen, filled) = seen(kernel.window.unwrap_or(0));
    let colors = colors(planes);
    let made = "    if any(here >= size) {
        return;
    }
    var made: vec3<f32>;
    var kept: vec3<f32>;
";
    if !kernel.history {
        let source = format!(
            "{}{colors}{HERE}{made}{alone}{}}}\n",
            bindings(site, &["color"], &["dst"], planes),
            store("dst", "made", planes)
        );
        return dispatch(site, source, kernel);
    }
    let mut reads = vec!["color", "history"];
    let statistics = match kernel.window {
        Some(radius) => statistics(radius),
        None => {
            reads.extend(["mu", "sigma"]);
            "        let mean = mu_at(at);\n        let deviation = sigma_at(at);\n".into()
        }
    };
    let moved = if kernel.motion {
        reads.push("motion");
        match kernel.nearest {
            true => "motion_at(nearest(here, size)).xy",
            false => "motion_at(at).xy",
        }
    } else {
        "vec2<f32>(0.0)"
    };
    let mut nearest = String::new();
    if kernel.nearest {
        reads.push("depth");
        nearest = format!(
            "const FAR: f32 = {FAR:?};\n{}",
            include_str!("nearest.wgsl")
        );
    }
    let (old, keep) = if site.reads[1].element == Element::F32x4 {
        (
            "history[at]".to_owned(),
            "    last[at] = vec4<f32>(kept, 1.0);\n".to_owned(),
        )
    } else {
        let ones = format!("[at + {planes} * i32(p.width * p.height)]");
        (
            format!("vec4<f32>(history_at(at), history{ones})"),
            store("last", "kept", planes) + &format!("    last{ones} = 1.0;\n"),
        )
    };
    let (declared, read) = match kernel.cubic {
        true => (
            format!(
                "const BEYOND: f32 = {BEYOND:?};\n{}",
                include_str!("cubic.wgsl")
            ),
            "    let h = cubic(place, size);\n",
        ),
        false => (
            include_str!("bilinear.wgsl").to_owned(),
            "    let h = bilinear(place, size);\n",
        ),
    };
    // History is requested before the tile is filled, because it takes longest to arrive.
    let source = format!(
        "{}{colors}{nearest}{seen}fn old(q: vec2<i32>, size: vec2<i32>) -> vec4<f32> {{
    let near = clamp(q, vec2<i32>(0), size - 1);
    let at = near.y * size.x + near.x;
    return {old};
}}
{declared}{HERE}    let far = vec2<f32>(size) + 1.0;
    let place = clamp(vec2<f32>(here) + {moved}, vec2<f32>(-2.0), far);
{read}{filled}{made}    if h.a > 1e-3 {{
{statistics}        let away = h.rgb / h.a - mean;
        let least = {NARROWEST:?} * abs(mean.x) + 1e-8;
        let over = abs(away) / max(p.gamma * deviation, vec3<f32>(least));
        let clipped = mean + away / max(1.0, max(over.x, max(over.y, over.z)));
        kept = clipped + p.blend * (seen(here).xyz - clipped);
        // Splines may undershoot.
        made = max(back(kept), min(color_at(at), vec3<f32>(0.0)));
    }} else {{
{alone}    }}
{}{keep}}}
",
        bindings(site, &reads, &["dst", "last"], planes),
        store("dst", "made", planes),
    );
    dispatch(site, source, kernel)
}

/// The entry point's beginning: threads outside follow the last pixel as far as the barrier.
const HERE: &str = "@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let size = vec2<i32>(vec2<u32>(p.width, p.height));
    let here = vec2<i32>(group.xy * vec2<u32>(32u, 8u) + vec2<u32>(lane % 32u, lane / 32u));
    let at = min(here.y, size.y - 1) * size.x + min(here.x, size.x - 1);
";
