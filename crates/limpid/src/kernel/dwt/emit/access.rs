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

/// How much is read and written at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kernel::dwt) enum Access {
    /// A sample.
    Samples,
    /// The two pixels of a row of a quad; their number in a row must be even.
    Pairs,
    /// Those of two quads side by side, and their two coefficients of each band: `load_two` and `store_two`. The number of
    /// pixels in a row must be divisible by four, that in a row of the packed image by two.
    Twos,
}

/// `load` of quads of pixels.
pub(in crate::kernel::dwt) fn load_image(binding: usize, home: Home, access: Access) -> String {
    let one = include_str!("../load_image.wgsl");
    let load = match (home, access) {
        (Home::Buffer, Access::Twos) => include_str!("../load_fours.wgsl").to_owned(),
        (Home::Buffer, Access::Pairs) => include_str!("../load_pairs.wgsl").to_owned(),
        (Home::Buffer, Access::Samples) => {
            format!("{}{one}", include_str!("../pixel_buffer.wgsl"))
        }
        (Home::Texture | Home::Texture8, _) => {
            format!("{}{one}", include_str!("../pixel_texture.wgsl"))
        }
    };
    format!("@group(0) @binding({binding}) {load}")
}

/// `store` of quads of pixels.
pub(in crate::kernel::dwt) fn store_image(binding: usize, access: Access) -> String {
    let store = match access {
        Access::Twos => include_str!("../store_fours.wgsl"),
        Access::Pairs => include_str!("../store_pairs.wgsl"),
        Access::Samples => include_str!("../store_image.wgsl"),
    };
    format!("@group(0) @binding({binding}) {store}")
}

/// How `LL` is called, and the index of the coefficient at a place there.
fn low_place(level: &Level, x: &str, y: &str) -> (&'static str, String) {
    let (name, width, height) = match level.deepest {
        true => ("coefficients", "frame_width", "frame_height"),
        false => ("low", "low_width", "low_height"),
    };
    (
        name,
        format!("((plane * p.{height} + {y}) * p.{width} + {x})"),
    )
}

/// `load` of quads of coefficients.
pub(in crate::kernel::dwt) fn load_coefficients(
    binding: usize,
    level: &Level,
    access: Access,
) -> String {
    let two = access == Access::Twos;
    let element = if two { "vec2<f32>" } else { "f32" };
    let mut names = vec![("coefficients", element)];
    names.extend((!level.deepest).then_some(("low", element)));
    let limited = matches!(level.limits, Limits::Slot { .. });
    names.extend(limited.then_some(("limits", "f32")));
    let mut text = String::new();
    for (i, (name, element)) in names.iter().enumerate() {
        let _ = writeln!(
            text,
            "@group(0) @binding({}) var<storage, read> {name}: array<{element}>;",
            binding + i
        );
    }
    let [a, b, c] = level.scales().map(|s| 1.0 / s);
    let (name, index) = low_place(level, "u32(l.x)", "u32(l.y)");
    let zero = if two { "vec2<f32>(0.0)" } else { "0.0" };
    let soft = match limited {
        true => {
            format!("sign(v) * max(abs(v) - limits[plane * p.bands + p.band + kind - 1u], {zero})")
        }
        false => "v".to_owned(),
    };
    let load = match two {
        true => include_str!("../load_two.wgsl"),
        false => include_str!("../load_coefficients.wgsl"),
    };
    text + &load
        .replace("LL_VALUE", &format!("{name}[{index}]"))
        .replace("LL_NAME", name)
        .replace("LL_INDEX", &index)
        .replace("SOFT", &soft)
        .replace("SCALES", &vector([a, b, b, c]))
}

/// `store` of quads of coefficients.
pub(in crate::kernel::dwt) fn store_coefficients(
    binding: usize,
    level: &Level,
    access: Access,
) -> String {
    let two = access == Access::Twos;
    let element = if two { "vec2<f32>" } else { "f32" };
    let mut text = format!(
        "@group(0) @binding({binding}) var<storage, read_write> coefficients: array<{element}>;\n"
    );
    if !level.deepest {
        let _ = writeln!(
            text,
            "@group(0) @binding({}) var<storage, read_write> low: array<{element}>;",
            binding + 1
        );
    }
    let [a, b, c] = level.scales();
    let (name, index) = low_place(level, "x", "y");
    let scaled = format!("value * {}", vector([a, b, b, c]));
    let scaled = match level.limits {
        Limits::Fixed(_) => {
            format!("softened({scaled}, vec4<f32>(0.0, p.limit_hl, p.limit_lh, p.limit_hh))")
        }
        Limits::None | Limits::Slot { .. } => scaled,
    };
    let (store, place) = match two {
        true => (
            include_str!("../store_two.wgsl"),
            format!("{name}[{index} / 2u]"),
        ),
        false => (
            include_str!("../store_coefficients.wgsl"),
            format!("{name}[{index}]"),
        ),
    };
    text + &store.replace("LL_PLACE", &place).replace("SCALED", &scaled)
}

fn vector([a, b, c, d]: [f32; 4]) -> String {
    format!("vec4<f32>({a:?}, {b:?}, {c:?}, {d:?})")
}
