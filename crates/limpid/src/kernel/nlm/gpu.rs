//! The GPU body: constants and bindings in front of the WGSL text.

use super::{EPSILON, Nlm, Noise, STEP, STEP_FLOOR, SYMMETRIC_LIMIT};
use crate::kernel::{Dispatch, Site, WgslStruct, tiles};
use crate::params;
use crate::{Error, Result};
use std::fmt::Write;

params! {
    /// Size of the image, the guide's variance where it is the same everywhere, and what differences are divided by.
    struct Params { width: u32, height: u32, pixels: u32, variance: f32, k_color: f32, k_feature: f32 }
}

/// Sides of tiles, the preferred first: wide enough that the pixels around them do not dominate.
const TILES: [(u32, u32); 6] = [(32, 16), (16, 16), (16, 8), (8, 8), (8, 4), (4, 4)];

pub(super) fn dispatch(nlm: &Nlm, site: &Site<'_>) -> Result<Dispatch> {
    let size = site.writes[0].size;
    let (width, height) = tile(nlm, site)?;
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        pixels: size.pixels() as u32,
        variance: match nlm.noise {
            Noise::Pixel => 0.0,
            Noise::Uniform(variance) => variance,
        },
        k_color: nlm.color.unwrap_or(1.0),
        k_feature: nlm.features.as_ref().map_or(1.0, |f| f.k),
    };
    // Each feature's τ.
    let list = nlm.features.iter().flat_map(|f| &f.list);
    let mut numbers: Vec<f32> = list.map(|f| f.tau).collect();
    let apart = match nlm.apart.is_empty() {
        true => "return 1.0;".to_owned(),
        false => format!("return param({}u + u32(pair) - 1u);", numbers.len()),
    };
    let apart = format!("fn apart(pair: i32) -> f32 {{ {apart} }}\n");
    numbers.extend(&nlm.apart);
    let source = format!(
        "{}{apart}{}{}{}{}",
        Params::wgsl_with(numbers.len()),
        constants(nlm, width, height),
        bindings(nlm),
        features(nlm),
        include_str!("nlm.wgsl")
    );
    let mut dispatch = Dispatch::own(source, &(), tiles(size, width, height));
    dispatch.params = params.bytes_with(&numbers);
    Ok(dispatch)
}

/// The first tile that fits the device.
fn tile(nlm: &Nlm, site: &Site<'_>) -> Result<(u32, u32)> {
    let fits = |(width, height): &(u32, u32)| {
        let kinds = 2 + u32::from(nlm.symmetric);
        let bytes = if nlm.color.is_some() {
            let (f, outer) = (nlm.patch as u32, outer(nlm));
            let (wide, far) = (width + 2 * outer, height + 2 * (outer + f));
            4 * kinds * far * (wide + wide + 2 * f)
        } else {
            0
        };
        bytes <= site.target.workgroup_bytes && width * height <= site.target.invocations
    };
    let wanted = |(_, height): &&(u32, u32)| nlm.tile.is_none_or(|t| *height <= t);
    TILES
        .iter()
        .filter(wanted)
        .find(|t| fits(t))
        .copied()
        .ok_or_else(|| {
            Error::unsupported(format!(
                "patches of radius {} need more workgroup memory than the device has ({} bytes); use smaller patches or the CPU",
                nlm.patch, site.target.workgroup_bytes
            ))
        })
}

fn outer(nlm: &Nlm) -> u32 {
    if nlm.patchwise { nlm.patch as u32 } else { 0 }
}

fn constants(nlm: &Nlm, width: u32, height: u32) -> String {
    let color = nlm.color.is_some();
    let mut text = String::new();
    let mut add = |name: &str, kind: &str, value: String| {
        text += &format!("const {name}: {kind} = {value};\n");
    };
    add("TX", "i32", width.to_string());
    add("TY", "i32", height.to_string());
    add("R", "i32", nlm.radius.to_string());
    // Without colour weights there are no patches.
    add("F", "i32", if color { nlm.patch } else { 0 }.to_string());
    add(
        "OUTER",
        "i32",
        if color { outer(nlm) } else { 0 }.to_string(),
    );
    add("KINDS", "i32", (2 + i32::from(nlm.symmetric)).to_string());
    add("CHANNELS", "i32", nlm.channels.to_string());
    add(
        "PAYLOAD",
        "i32",
        nlm.payload.unwrap_or(nlm.channels).to_string(),
    );
    add("COLOR", "bool", color.to_string());
    add("PATCHWISE", "bool", nlm.patchwise.to_string());
    add("SYMMETRIC", "bool", nlm.symmetric.to_string());
    add("RISK", "bool", nlm.risk.to_string());
    add("RESIDUAL", "bool", nlm.residual.to_string());
    add("EPSILON", "f32", float(EPSILON));
    add("LIMIT", "f32", float(SYMMETRIC_LIMIT));
    add("STEP", "f32", float(STEP));
    add("STEP_FLOOR", "f32", float(STEP_FLOOR));
    text
}

/// A number that WGSL reads back to the same bits.
fn float(value: f32) -> String {
    format!("{value:e}f")
}

fn bindings(nlm: &Nlm) -> String {
    let mut text = String::new();
    let mut next = 1;
    let mut bind = |name: &str, access: &str| {
        text += &format!("@group(0) @binding({next}) var<storage, {access}> {name}: array<f32>;\n");
        next += 1;
    };
    bind("guide", "read");
    if nlm.noise == Noise::Pixel {
        bind("variance", "read");
    }
    if nlm.payload.is_some() {
        bind("filtered", "read");
    }
    if nlm.features.is_some() {
        bind("feature_values", "read");
        bind("feature_variance", "read");
        bind("feature_spread", "read");
    }
    bind("dst", "read_write");
    if nlm.risk {
        bind("risk_dst", "read_write");
    }
    if nlm.residual {
        bind("residual_dst", "read_write");
    }
    let variance = match nlm.noise {
        Noise::Pixel => "variance[i]",
        Noise::Uniform(_) => "p.variance",
    };
    let payload = if nlm.payload.is_some() {
        "filtered"
    } else {
        "guide"
    };
    let risk = if nlm.risk {
        "risk_dst[i] = risk; risk_dst[i + i32(p.pixels)] = slope;"
    } else {
        ""
    };
    let residual = if nlm.residual {
        "residual_dst[i] = v;"
    } else {
        ""
    };
    text + &format!(
        "fn variance1(i: i32) -> f32 {{ return {variance}; }}\n\
         fn variance3(t: Trio, c: i32) -> vec3<f32> {{\n    \
             let base = c * i32(p.pixels);\n    \
             return vec3(variance1(base + t.p), variance1(base + t.plus), variance1(base + t.minus));\n}}\n\
         fn payload(i: i32) -> f32 {{ return {payload}[i]; }}\n\
         fn write_risk(i: i32, risk: f32, slope: f32) {{ {risk} }}\n\
         fn write_residual(i: i32, v: f32) {{ {residual} }}\n"
    )
}

/// The least weight of all features, for both partners.
fn features(nlm: &Nlm) -> String {
    let Some(features) = &nlm.features else {
        return "fn features(t: Trio) -> vec2<f32> { return vec2(1.0); }\n".to_owned();
    };
    let mut text = "fn features(t: Trio) -> vec2<f32> {\n    var w = vec2(1.0);\n".to_owned();
    let mut first = 0;
    for (k, feature) in features.list.iter().enumerate() {
        let planes = feature.planes;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "    w = min(w, feature(t, {first}, {planes}, param({k}u)));"
        );
        first += planes;
    }
    text + "    return w;\n}\n" + include_str!("feature.wgsl")
}
