//! Generates the loads and stores of quads: each part binds its slots starting at a given binding.

use crate::dwt::{Level, Limits};
use limpid_plan::Backing;
use limpid_plan::wgsl::{Wgsl, vec4};

/// `mirror`: the index of sample `i` in a line of `n` samples mirrored at its first and last sample. Only small images need
/// more than one reflection.
pub(in crate::dwt) fn mirror(small: bool) -> &'static str {
    if small {
        include_str!("../mirror.wgsl")
    } else {
        include_str!("../mirror_once.wgsl")
    }
}

/// How many samples are read and written at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dwt) enum Access {
    /// One sample.
    Samples,
    /// The two pixels of a row of a quad; the row length must be even.
    Pairs,
    /// Those of two quads side by side, and their two coefficients of each band: `load_two` and `store_two`. The number of
    /// pixels in a row must be divisible by four, and that of the packed image by two.
    Twos,
}

impl Access {
    /// The type in which pixels are read and written.
    const fn pixels(self) -> &'static str {
        match self {
            Self::Samples => "f32",
            Self::Pairs => "vec2<f32>",
            Self::Twos => "vec4<f32>",
        }
    }
}

/// `load` of quads of pixels.
pub(in crate::dwt) fn load_image(
    text: Wgsl,
    binding: usize,
    (backing, access): (Backing, Access),
) -> Wgsl {
    let one = include_str!("../load_image.wgsl");
    if backing != Backing::Buffer {
        let text = text.reads_texture(binding, "src");
        return text.body(include_str!("../pixel_texture.wgsl")).body(one);
    }
    let text = text.reads(binding, "src", access.pixels());
    match access {
        Access::Twos => text.body(include_str!("../load_fours.wgsl")),
        Access::Pairs => text.body(include_str!("../load_pairs.wgsl")),
        Access::Samples => text.body(include_str!("../pixel_buffer.wgsl")).body(one),
    }
}

/// `store` of quads of pixels.
pub(in crate::dwt) fn store_image(text: Wgsl, binding: usize, access: Access) -> Wgsl {
    let text = text.writes(binding, "dst", access.pixels());
    text.body(match access {
        Access::Twos => include_str!("../store_fours.wgsl"),
        Access::Pairs => include_str!("../store_pairs.wgsl"),
        Access::Samples => include_str!("../store_image.wgsl"),
    })
}

/// The name of `LL`, and the index of a coefficient in it.
fn low_place(level: &Level, x: &str, y: &str) -> (&'static str, String) {
    let (name, width, height) = match level.deepest {
        true => ("coefficients", "frame_width", "frame_height"),
        false => ("low", "low_width", "low_height"),
    };
    (
        name,
        format!("(plane * p.{height} + {y}) * p.{width} + {x}"),
    )
}

/// `load` of quads of coefficients.
pub(in crate::dwt) fn load_coefficients(
    mut text: Wgsl,
    binding: usize,
    level: &Level,
    access: Access,
) -> Wgsl {
    let two = access == Access::Twos;
    let element = if two { "vec2<f32>" } else { "f32" };
    let mut names = vec![("coefficients", element)];
    names.extend((!level.deepest).then_some(("low", element)));
    let limited = matches!(level.limits, Limits::Slot { .. });
    names.extend(limited.then_some(("limits", "f32")));
    for (i, (name, element)) in names.into_iter().enumerate() {
        text = text.reads(binding + i, name, element);
    }
    let [a, b, c] = level.scales().map(|s| 1.0 / s);
    let (name, index) = low_place(level, "u32(l.x)", "u32(l.y)");
    let limit = "limits[plane * p.bands + p.band + kind - 1u]";
    // A coefficient of a band, soft-thresholded by the band's limit.
    let soft = match limited {
        true => format!("sign(v) * max(abs(v) - {limit}, {element}(0.0))"),
        false => "v".to_owned(),
    };
    let head = format!("softened(v: {element}, plane: u32, kind: u32) -> {element}");
    let text = text
        .constant("SCALES", "vec4<f32>", vec4([a, b, b, c]))
        .function("low_index(l: vec2<i32>, plane: u32) -> u32", index)
        .function(&head, soft);
    if two {
        let pair = format!("{name}[at / 2u]");
        text.function("low_pair(at: u32) -> vec2<f32>", pair)
            .body(include_str!("../load_two.wgsl"))
    } else {
        let value = format!("{name}[low_index(l, plane)]");
        text.function("low_value(l: vec2<i32>, plane: u32) -> f32", value)
            .body(include_str!("../load_coefficients.wgsl"))
    }
}

/// `store` of quads of coefficients.
pub(in crate::dwt) fn store_coefficients(
    text: Wgsl,
    binding: usize,
    level: &Level,
    access: Access,
) -> Wgsl {
    let two = access == Access::Twos;
    let element = if two { "vec2<f32>" } else { "f32" };
    let mut text = text.writes(binding, "coefficients", element);
    if !level.deepest {
        text = text.writes(binding + 1, "low", element);
    }
    let [a, b, c] = level.scales();
    let (name, index) = low_place(level, "x", "y");
    let scaled = match level.limits {
        Limits::Fixed(_) => {
            "softened(value * SCALES, vec4<f32>(0.0, p.limit_hl, p.limit_lh, p.limit_hh))"
        }
        Limits::None | Limits::Slot { .. } => "value * SCALES",
    };
    let (place, body) = match two {
        true => (
            format!("{name}[({index}) / 2u]"),
            include_str!("../store_two.wgsl"),
        ),
        false => (
            format!("{name}[{index}]"),
            include_str!("../store_coefficients.wgsl"),
        ),
    };
    let put = format!("put_low(x: u32, y: u32, plane: u32, value: {element})");
    text.constant("SCALES", "vec4<f32>", vec4([a, b, b, c]))
        .function("scaled(value: vec4<f32>) -> vec4<f32>", scaled)
        .procedure(&put, format!("{place} = value"))
        .body(body)
}
