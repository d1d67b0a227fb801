//! The GPU bodies.

use super::{Halve, Keep, Merge, Motion, Reel, Search, SearchStart, Tick};
use limpid_core::Size;
use limpid_plan::params;
use limpid_plan::wgsl::{PIXELS, Wgsl, vec4};
use limpid_plan::{Dispatch, PassSlots, WgslStruct, tiles};
use limpid_reference::definition::film::{
    BLOCK_MATCH, CELL, COARSE, COARSE_COUNT, COARSE_MATCH, DUPLICATE, FAR, FREQUENCY_SCALE, LAMBDA,
    MARGIN, MOST, SKIP, STEP, WEIGHTS, WINDOW, cosine,
};
use limpid_reference::noise::SIDE;

params! {
    /// Parameters of all shaders: output and input sizes, planes of a frame, the ring, and two kernel-specific values.
    struct Params { width: u32, height: u32, wide: u32, high: u32, planes: u32, places: u32, ahead: u32, number: f32 }
}

fn params(pass: &PassSlots<'_>, reel: Reel, planes: usize, number: f32) -> Params {
    let to = pass.writes[0].size;
    let from = pass.reads.first().map_or(to, |slot| slot.size);
    Params {
        width: to.width as u32,
        height: to.height as u32,
        wide: from.width as u32,
        high: from.height as u32,
        planes: planes as u32,
        places: reel.places() as u32,
        ahead: reel.ahead as u32,
        number,
    }
}

/// Code shared by all shaders that read the clock.
fn shared(pass: &PassSlots<'_>, radius: usize) -> Wgsl {
    Wgsl::default()
        .body(&pass.wgsl())
        .constant("RADIUS", "u32", radius)
        .body(include_str!("shared.wgsl"))
}

pub(super) fn tick(kernel: &Tick, pass: &PassSlots<'_>) -> Dispatch {
    let reel = Reel {
        radius: 0,
        ahead: 0,
    };
    let source = Wgsl::default()
        .body(Params::WGSL)
        .body(&pass.wgsl())
        .body(include_str!("tick.wgsl"))
        .text();
    let number = if kernel.ended { 0.0 } else { 1.0 };
    Dispatch::compute(source, &params(pass, reel, 1, number), [1, 1, 1])
}

/// A shader with one thread for each pixel.
fn pixels(pass: &PassSlots<'_>, params: Params, text: &str) -> Dispatch {
    let source = shared(pass, 0).body(Params::WGSL).body(text).body(PIXELS);
    Dispatch::compute(source.text(), &params, tiles(pass.writes[0].size, 32, 8))
}

pub(super) fn keep(kernel: &Keep, pass: &PassSlots<'_>) -> Dispatch {
    let params = params(pass, kernel.reel, pass.reads[0].planes, 0.0);
    pixels(pass, params, include_str!("keep.wgsl"))
}

pub(super) fn search(kernel: &Search, pass: &PassSlots<'_>) -> Dispatch {
    let params = params(pass, kernel.reel, 1, kernel.gain);
    let text = Wgsl::default()
        .constant("MOST", "f32", format_args!("{MOST:?}"))
        .body(include_str!("search.wgsl"));
    pixels(pass, params, &text.text())
}

pub(super) fn halve(kernel: &Halve, pass: &PassSlots<'_>) -> Dispatch {
    let params = params(pass, kernel.reel, 1, 0.0);
    pixels(pass, params, include_str!("halve.wgsl"))
}

/// Threads that search for the motion of one cell.
const LANES: u32 = 8;

pub(super) fn motion(kernel: &Motion, pass: &PassSlots<'_>) -> Dispatch {
    let coarse = kernel.around != SearchStart::Nothing;
    let finest = kernel.around == SearchStart::Finest;
    let size = pass.reads.get(2).map_or(pass.writes[0].size, |s| s.size);
    let source = shared(pass, kernel.radius)
        .body(Params::WGSL)
        .constant("CELL", "i32", CELL)
        .constant("WINDOW", "i32", WINDOW)
        .constant("SKIP", "i32", SKIP)
        .constant("FAR", "i32", FAR)
        .constant("MARGIN", "f32", format_args!("{MARGIN:?}"))
        .constant("FINEST", "bool", finest)
        .constant("LANES", "u32", LANES)
        .body(match coarse {
            true => include_str!("coarse.wgsl"),
            false => include_str!("everywhere.wgsl"),
        })
        .body(include_str!("motion.wgsl"))
        .text();
    let mut params = params(pass, kernel.reel, 1, 0.0);
    params.planes = size.width as u32;
    params.number = size.height as f32;
    let Size { width, height } = pass.writes[0].size;
    let others = 2 * kernel.radius as u32;
    let groups = (width as u32).div_ceil(64 / LANES);
    Dispatch::compute(source, &params, [groups, height as u32, others])
}

pub(super) fn merge(kernel: &Merge, pass: &PassSlots<'_>) -> Dispatch {
    let planes = pass.writes[0].planes / 3;
    let powers = kernel.step.powers.iter().flatten().copied();
    let mut numbers: Vec<f32> = (0..SIDE * SIDE)
        .map(|at| cosine(at / SIDE, at % SIDE))
        .collect();
    numbers.extend(powers);
    numbers.resize(4 * SIDE * SIDE, 1.0);
    let share = |c: usize| match (planes, c) {
        (1, _) => 1.0,
        (_, 0) => 0.5,
        _ => 0.25,
    };
    let counts = (0..3).map(|c| {
        let stronger = kernel.step.stronger.get(c).copied().unwrap_or(0.0);
        let share = if c < planes { share(c) } else { 0.0 };
        share * stronger * stronger / (2.0 * (SIDE * SIDE - 1) as f32)
    });
    numbers.extend(counts);
    numbers.extend((0..3).map(|c| {
        let powers = kernel.step.powers.get(c);
        powers.map_or(1.0, |p| (SIDE * SIDE) as f32 / p.iter().sum::<f32>())
    }));
    let shares = [0, 1, 2].map(|c| match c < planes {
        true => share(c) / (2 * COARSE_COUNT) as f32,
        false => 0.0,
    });
    let shares = format!("vec3({:?}, {:?}, {:?})", shares[0], shares[1], shares[2]);
    let pair = |[a, b]: [f32; 2]| format!("vec2({a:?}, {b:?})");
    let source = shared(pass, kernel.step.radius)
        .body(&Params::wgsl_with(numbers.len()))
        .constant("PLANES", "u32", planes)
        .constant("CELL", "u32", CELL)
        .constant("STEP", "u32", STEP)
        .constant("BLOCK_MATCH", "vec2<f32>", pair(BLOCK_MATCH))
        .constant("DUPLICATE", "vec2<f32>", pair(DUPLICATE))
        .constant("COARSE_MATCH", "vec2<f32>", pair(COARSE_MATCH))
        .constant("COARSE", "u32", COARSE)
        .constant("SHARES", "vec3<f32>", shares)
        .constant(
            "FREQUENCY_SCALE",
            "f32",
            format_args!("{FREQUENCY_SCALE:?}"),
        )
        .constant("LAMBDA", "f32", format_args!("{LAMBDA:?}"))
        .constant("EDGE", "vec4<f32>", vec4(WEIGHTS))
        .body(include_str!("merge.wgsl"))
        .text();
    let [x, y, _] = tiles(pass.writes[0].size, 16, 16);
    let mut params = params(pass, kernel.reel, planes, 0.0);
    // Motion cells per row.
    params.number = pass.reads[2].size.width as f32;
    Dispatch::compute(source, &(), [x, y, 1]).with_params(params.bytes_with(&numbers))
}
