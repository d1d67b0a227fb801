//! The GPU body.

use super::Wiener;
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Dispatch, PassSlots, WgslStruct, tiles};
use limpid_reference::definition::wiener::{AREA, SIDE, WEIGHTS, cosine};

params! {
    /// Parameters of the shader; cosines, window and powers are the numbers after them.
    struct Params { width: u32, height: u32, step: u32, every: u32 }
}

/// Side of a workgroup's output tile in pixels.
const TILE: u32 = 32;

pub(super) fn wiener(kernel: &Wiener, pass: &PassSlots<'_>) -> Dispatch {
    let slot = pass.writes[0];
    let planes = slot.planes;
    let mut numbers: Vec<f32> = (0..AREA).map(|at| cosine(at / SIDE, at % SIDE)).collect();
    numbers.extend((0..SIDE).map(|i| WEIGHTS[i.min(SIDE - 1 - i)]));
    for powers in &kernel.by.powers {
        numbers.extend(powers);
    }
    numbers.resize(AREA + SIDE + 3 * AREA, 1.0);
    let value = |slot: &str, skip: usize| {
        let plane = |c: usize| match c < planes {
            true => format!("{slot}[at + {}u * p.width * p.height]", skip + c),
            false => "0.0".to_owned(),
        };
        format!("vec3({}, {}, {})", plane(0), plane(1), plane(2))
    };
    let (noisy, estimate, variance) = match kernel.joined {
        true => (
            value("read0", planes),
            value("read0", 0),
            value("read0", 2 * planes),
        ),
        false => (value("read0", 0), value("read1", 0), "vec3(1.0)".to_owned()),
    };
    let source = Wgsl::default()
        .body(&Params::wgsl_with(numbers.len()))
        .body(&pass.wgsl())
        .constant("TILE", "i32", TILE)
        .constant("PLANES", "u32", planes)
        .constant("VARIES", "bool", kernel.joined)
        .function("noisy(at: u32) -> vec3<f32>", noisy)
        .function("estimate(at: u32) -> vec3<f32>", estimate)
        .function("variance(at: u32) -> vec3<f32>", variance)
        .body(include_str!("gpu.wgsl"))
        .text();
    let [x, y, _] = tiles(slot.size, TILE, TILE);
    let params = Params {
        width: slot.size.width as u32,
        height: slot.size.height as u32,
        step: kernel.by.step as u32,
        every: if kernel.by.chessboard { 2 } else { 1 },
    };
    Dispatch::compute(source, &(), [x, y, 1]).with_params(params.bytes_with(&numbers))
}
