//! How quads are read and written, as text: each part binds its slots from a given number on.

use crate::kernel::dwt::{Level, Limits};
use crate::plan::Home;
use std::fmt::Write;

/// `mirror`: the place of sample `i` in a line of `n` samples mirrored at its first and last one. Only small images need
/// it to fold more than once.
pub(in crate::kernel::dwt) fn mirror(small: bool) -> &'static str {
    if small {
        include_str!("../mirror.wgsl")
    } else {
        include_str!("../mirror_once.wgsl")
    }
}

/// `load` of quads of pixels.
pub(in crate::kernel::dwt) fn load_image(binding: usize, level: &Level, home: Home) -> String {
    let one = include_str!("../load_image.wgsl");
    let load = match home {
        Home::Buffer if even(level) => include_str!("../load_pairs.wgsl").to_owned(),
        Home::Buffer => format!("{}{one}", include_str!("../pixel_buffer.wgsl")),
        Home::Texture | Home::Texture8 => {
            format!("{}{one}", include_str!("../pixel_texture.wgsl"))
        }
    };
    format!("@group(0) @binding({binding}) {load}")
}

/// Whether rows are whole pairs of pixels.
fn even(level: &Level) -> bool {
    level.size.width.is_multiple_of(2)
}

/// `store` of quads of pixels.
pub(in crate::kernel::dwt) fn store_image(binding: usize, level: &Level) -> String {
    let store = if even(level) {
        include_str!("../store_pairs.wgsl")
    } else {
        include_str!("../store_image.wgsl")
    };
    format!("@group(0) @binding({binding}) {store}")
}

/// `load` of quads of coefficients.
pub(in crate::kernel::dwt) fn load_coefficients(binding: usize, level: &Level) -> String {
    let mut names = vec!["coefficients"];
    names.extend((!level.deepest).then_some("low"));
    names.extend(matches!(level.limits, Limits::Slot { .. }).then_some("limits"));
    let mut text = String::new();
    for (i, name) in names.iter().enumerate() {
        let _ = writeln!(
            text,
            "@group(0) @binding({}) var<storage, read> {name}: array<f32>;",
            binding + i
        );
    }
    let [a, b, c] = level.scales().map(|s| 1.0 / s);
    let ll = if level.deepest {
        "coefficients[(plane * p.frame_height + u32(l.y)) * p.frame_width + u32(l.x)]"
    } else {
        "low[(plane * p.low_height + u32(l.y)) * p.low_width + u32(l.x)]"
    };
    let limit = match level.limits {
        Limits::Slot { .. } => "limits[plane * p.bands + p.band + kind - 1u]",
        Limits::None | Limits::Fixed(_) => "0.0",
    };
    text + &include_str!("../load_coefficients.wgsl")
        .replace("LL_VALUE", ll)
        .replace("LIMIT", limit)
        .replace("SCALES", &vector([a, b, b, c]))
}

/// `store` of quads of coefficients.
pub(in crate::kernel::dwt) fn store_coefficients(binding: usize, level: &Level) -> String {
    let mut text = format!(
        "@group(0) @binding({binding}) var<storage, read_write> coefficients: array<f32>;\n"
    );
    if !level.deepest {
        let _ = writeln!(
            text,
            "@group(0) @binding({}) var<storage, read_write> low: array<f32>;",
            binding + 1
        );
    }
    let [a, b, c] = level.scales();
    let ll = if level.deepest {
        "coefficients[(plane * p.frame_height + y) * p.frame_width + x]"
    } else {
        "low[(plane * p.low_height + y) * p.low_width + x]"
    };
    let scaled = format!("value * {}", vector([a, b, b, c]));
    let scaled = match level.limits {
        Limits::Fixed(_) => {
            format!("softened({scaled}, vec4<f32>(0.0, p.limit_hl, p.limit_lh, p.limit_hh))")
        }
        Limits::None | Limits::Slot { .. } => scaled,
    };
    text + &include_str!("../store_coefficients.wgsl")
        .replace("LL_PLACE", ll)
        .replace("SCALED", &scaled)
}

fn vector([a, b, c, d]: [f32; 4]) -> String {
    format!("vec4<f32>({a:?}, {b:?}, {c:?}, {d:?})")
}
