//! The GPU bodies.

use super::{Fetch, Limits, Middle, PLACES, Trace};
use crate::film::Reel;
use limpid_plan::wgsl::{PIXELS, Wgsl, float, stored};
use limpid_plan::{Dispatch, PassSlots, WgslStruct, params, tiles};
use limpid_reference::definition::around::{MISSED, STEPS};

params! {
    /// Parameters of the shaders.
    struct Params { width: u32, height: u32, places: u32, ahead: u32, factor: f32 }
}

fn pixels(pass: &PassSlots<'_>, reel: Reel, factor: f32, text: Wgsl) -> Dispatch {
    let size = pass.writes[0].size;
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        places: reel.places() as u32,
        ahead: reel.ahead as u32,
        factor,
    };
    let source = Wgsl::default()
        .body(Params::WGSL)
        .body(&pass.wgsl())
        .body(include_str!("../film/shared.wgsl"))
        .body(&text.text())
        .body(PIXELS);
    Dispatch::compute(source.text(), &params, tiles(size, 32, 8))
}

fn around(reel: Reel) -> Wgsl {
    Wgsl::default()
        .constant("RADIUS", "u32", reel.radius)
        .constant("PLACES", "u32", PLACES)
}

pub(super) fn trace(kernel: &Trace, pass: &PassSlots<'_>) -> Dispatch {
    let text = around(kernel.reel)
        .constant("STEPS", "u32", STEPS)
        .constant("MISSED", "f32", float(MISSED))
        .body(include_str!("trace.wgsl"));
    pixels(pass, kernel.reel, 1.0, text)
}

pub(super) fn fetch(kernel: &Fetch, pass: &PassSlots<'_>) -> Dispatch {
    let text = around(kernel.reel)
        .constant("CHANNELS", "u32", kernel.channels)
        .body(stored(pass.writes[0].element))
        .body(match kernel.limits {
            Limits::Own => include_str!("own.wgsl"),
            Limits::Told => include_str!("told.wgsl"),
            Limits::Given => include_str!("given.wgsl"),
        })
        .body(include_str!("fetch.wgsl"));
    pixels(pass, kernel.reel, kernel.factor, text)
}

pub(super) fn middle(kernel: &Middle, pass: &PassSlots<'_>) -> Dispatch {
    let text = around(kernel.reel)
        .constant("CHANNELS", "u32", pass.writes[0].planes)
        .body(include_str!("middle.wgsl"));
    pixels(pass, kernel.reel, 1.0, text)
}
