//! The GPU bodies.

use super::{Blend, Limits, OTHERS, PLACES, SURFACE, Trace};
use crate::film::Reel;
use limpid_plan::params;
use limpid_plan::wgsl::{PIXELS, Wgsl, float};
use limpid_plan::{Dispatch, Site, WgslStruct, tiles};
use limpid_reference::definition::steady::{
    ALBEDO, ALBEDO_AT, DARK, LIGHT_AT, MISSED, MOTION_AT, NOISE_AT, NORMAL, STEPS,
};

params! {
    /// Parameters of both shaders.
    struct Params { width: u32, height: u32, planes: u32, places: u32, ahead: u32 }
}

fn pixels(site: &Site<'_>, reel: Reel, text: Wgsl) -> Dispatch {
    let size = site.writes[0].size;
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        planes: site.writes[0].planes as u32,
        places: reel.places() as u32,
        ahead: reel.ahead as u32,
    };
    let source = Wgsl::default()
        .body(Params::WGSL)
        .body(&site.slots())
        .constant("RADIUS", "u32", reel.radius)
        .constant("PLACES", "u32", PLACES)
        .body(include_str!("../film/shared.wgsl"))
        .body(&text.text())
        .body(PIXELS);
    Dispatch::compute(source.text(), &params, tiles(size, 32, 8))
}

pub(super) fn trace(kernel: &Trace, site: &Site<'_>) -> Dispatch {
    let text = Wgsl::default()
        .constant("SURFACE", "u32", SURFACE)
        .constant("OTHERS", "u32", OTHERS)
        .constant("ALBEDO_AT", "u32", ALBEDO_AT)
        .constant("LIGHT_AT", "u32", LIGHT_AT)
        .constant("NOISE_AT", "u32", NOISE_AT)
        .constant("MOTION_AT", "u32", MOTION_AT)
        .constant("STEPS", "u32", STEPS)
        .constant("MISSED", "f32", float(MISSED))
        .constant("NORMAL", "f32", float(NORMAL))
        .constant("ALBEDO", "f32", float(ALBEDO))
        .constant("DARK", "f32", float(DARK))
        .body(include_str!("trace.wgsl"));
    pixels(site, kernel.reel, text)
}

pub(super) fn blend(kernel: &Blend, site: &Site<'_>) -> Dispatch {
    let limited = match kernel.limits {
        Limits::Own => include_str!("own.wgsl"),
        Limits::Told => include_str!("told.wgsl"),
        Limits::Given => include_str!("given.wgsl"),
    };
    let text = Wgsl::default()
        .constant("PLANES", "u32", site.writes[0].planes)
        .body(limited)
        .body(include_str!("blend.wgsl"));
    pixels(site, kernel.reel, text)
}
