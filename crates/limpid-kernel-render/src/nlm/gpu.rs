//! The GPU body: constants and bindings before the WGSL text.

use super::{EPSILON, Nlm, Noise, STEP, STEP_FLOOR, SYMMETRIC_LIMIT};
use limpid_core::{Error, Result};
use limpid_plan::params;
use limpid_plan::wgsl::{Code, Wgsl, float};
use limpid_plan::{Dispatch, PassSlots, WgslStruct, tiles};

params! {
    /// Size of the image, the guide's variance if it is uniform, and the divisors of differences.
    struct Params { width: u32, height: u32, pixels: u32, variance: f32, k_color: f32, k_feature: f32 }
}

/// Sides of tiles, the preferred first: wide enough that the halo does not dominate.
const TILES: [(u32, u32); 6] = [(32, 16), (16, 16), (16, 8), (8, 8), (8, 4), (4, 4)];

pub(super) fn dispatch(nlm: &Nlm, pass: &PassSlots<'_>) -> Result<Dispatch> {
    let pairs = 2 * nlm.radius * (nlm.radius + 1);
    let short = !nlm.apart.is_empty() && nlm.apart.len() < pairs;
    if short || (nlm.risk && nlm.payload.is_some_and(|planes| planes < nlm.channels)) {
        return Err(Error::unsupported(
            "non-local means without a number for each offset, or with a risk of other planes",
        ));
    }
    let size = pass.writes[0].size;
    let (width, height) = tile(nlm, pass)?;
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
        true => "1.0".to_owned(),
        false => format!("param({}u + u32(pair) - 1u)", numbers.len()),
    };
    numbers.extend(&nlm.apart);
    let head = Wgsl::default()
        .body(&Params::wgsl_with(numbers.len()))
        .function("apart(pair: i32) -> f32", apart);
    let source = features(nlm, bindings(nlm, constants(nlm, width, height, head)))
        .body(include_str!("nlm.wgsl"))
        .text();
    let dispatch = Dispatch::compute(source, &(), tiles(size, width, height));
    Ok(dispatch.with_params(params.bytes_with(&numbers)))
}

/// The first tile that fits the device.
fn tile(nlm: &Nlm, pass: &PassSlots<'_>) -> Result<(u32, u32)> {
    let fits = |(width, height): &(u32, u32)| {
        let kinds = 2 + u32::from(nlm.symmetric);
        let bytes = if nlm.color.is_some() {
            let (f, outer) = (nlm.patch as u32, outer(nlm));
            let (wide, far) = (width + 2 * outer, height + 2 * (outer + f));
            4 * kinds * far * (wide + wide + 2 * f)
        } else {
            0
        };
        bytes <= pass.target.workgroup_bytes && width * height <= pass.target.invocations
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
                nlm.patch, pass.target.workgroup_bytes
            ))
        })
}

fn outer(nlm: &Nlm) -> u32 {
    if nlm.patchwise { nlm.patch as u32 } else { 0 }
}

fn constants(nlm: &Nlm, width: u32, height: u32, head: Wgsl) -> Wgsl {
    let color = nlm.color.is_some();
    head.constant("TX", "i32", width)
        .constant("TY", "i32", height)
        .constant("R", "i32", nlm.radius)
        // Without colour weights there are no patches.
        .constant("F", "i32", if color { nlm.patch } else { 0 })
        .constant("OUTER", "i32", if color { outer(nlm) } else { 0 })
        .constant("KINDS", "i32", 2 + i32::from(nlm.symmetric))
        .constant("CHANNELS", "i32", nlm.channels)
        .constant("PAYLOAD", "i32", nlm.payload.unwrap_or(nlm.channels))
        .constant("COLOR", "bool", color)
        .constant("PATCHWISE", "bool", nlm.patchwise)
        .constant("SYMMETRIC", "bool", nlm.symmetric)
        .constant("RISK", "bool", nlm.risk)
        .constant("RESIDUAL", "bool", nlm.residual)
        .constant("EPSILON", "f32", float(EPSILON))
        .constant("LIMIT", "f32", float(SYMMETRIC_LIMIT))
        .constant("STEP", "f32", float(STEP))
        .constant("STEP_FLOOR", "f32", float(STEP_FLOOR))
}

fn bindings(nlm: &Nlm, head: Wgsl) -> Wgsl {
    let mut reads = vec!["guide"];
    if nlm.noise == Noise::Pixel {
        reads.push("variance");
    }
    if nlm.payload.is_some() {
        reads.push("filtered");
    }
    if nlm.features.is_some() {
        reads.extend(["feature_values", "feature_variance", "feature_spread"]);
    }
    let mut writes = vec!["dst"];
    let (mut risk, mut residual) = (Code::default(), Code::default());
    if nlm.risk {
        writes.push("risk_dst");
        risk.say("risk_dst[i] = risk")
            .say("risk_dst[i + i32(p.pixels)] = slope");
    }
    if nlm.residual {
        writes.push("residual_dst");
        residual.say("residual_dst[i] = v");
    }
    let mut text = head;
    let first = 1 + reads.len();
    for (i, name) in reads.into_iter().enumerate() {
        text = text.reads(1 + i, name, "f32");
    }
    for (i, name) in writes.into_iter().enumerate() {
        text = text.writes(first + i, name, "f32");
    }
    let variance = match nlm.noise {
        Noise::Pixel => "variance[i]",
        Noise::Uniform(_) => "p.variance",
    };
    let payload = match nlm.payload {
        Some(_) => "filtered[i]",
        None => "guide[i]",
    };
    text.function("variance1(i: i32) -> f32", variance)
        .function("payload(i: i32) -> f32", payload)
        .statements("write_risk(i: i32, risk: f32, slope: f32)", risk)
        .statements("write_residual(i: i32, v: f32)", residual)
}

/// The minimum weight of all features, for both partners.
fn features(nlm: &Nlm, text: Wgsl) -> Wgsl {
    let head = "features(t: Trio) -> vec2<f32>";
    let Some(features) = &nlm.features else {
        return text.function(head, "vec2(1.0)");
    };
    let mut code = Code::default();
    code.say("var w = vec2(1.0)");
    let mut first = 0;
    for (k, feature) in features.list.iter().enumerate() {
        let planes = feature.planes;
        code.say(format_args!(
            "w = min(w, feature(t, {first}, {planes}, param({k}u)))"
        ));
        first += planes;
    }
    code.say("return w");
    text.statements(head, code)
        .body(include_str!("feature.wgsl"))
}
