//! A level on a GPU.

use super::Level;
use limpid_core::{Error, Result};
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_plan::{Dispatch, Element, Need, PassSlots, WgslStruct, params};
use limpid_reference::definition::neural::{DIVISOR, GUIDES, PRECISION, TAPS};

params! {
    /// Parameters of the shader.
    struct Params { width: u32, height: u32, step: u32, guides: u32, level: u32 }
}

const _: () = assert!(GUIDES == 8, "shaders read two vectors of guides");

/// The entry point. A thread computes `run` pixels that are taps of each other, so that most taps are read once for several of
/// them.
fn entry(run: usize, vectors: usize) -> Code {
    let mut code = Code::default();
    code.say("let line = group.y * 8u + lane / 32u")
        .say("let x = i32(group.x * 32u + lane % 32u)")
        .say("let y = i32(line / p.step * RUN * p.step + line % p.step)")
        .block("if x >= i32(p.width) || y >= i32(p.height)", |code| {
            code.say("return");
        });
    for k in 0..run {
        code.say(format_args!("let own{k} = pixel_at(x, row_at(y, {k}))"))
            .say(format_args!("var total{k} = 1e-12"));
        for v in 0..vectors {
            code.say(format_args!("var sums{k}_{v} = vec4(0.0)"));
        }
    }
    code.block("for (var i = -2; i <= 2; i++)", |code| {
        code.say("let column = x + i * i32(p.step)")
            .block("if column < 0 || column >= i32(p.width)", |code| {
                code.say("continue");
            })
            .say("let across = spline(i)");
        let side = TAPS.len() as i32 / 2;
        for j in -side..run as i32 + side {
            code.block(format_args!("if is_row(y, {j})"), |code| {
                taps(code, [j, side], run, vectors);
            });
        }
    });
    for k in 0..run {
        code.block(format_args!("if is_row(y, {k})"), |code| {
            code.say(format_args!("let i = place_at(x, y + {k} * i32(p.step))"))
                .say(format_args!("dst[i] = result(sums{k}_0 / total{k})"));
            for v in 1..vectors {
                code.say(format_args!(
                    "dst[{v}u * p.width * p.height + i] = sums{k}_{v} / total{k}"
                ));
            }
        });
    }
    code
}

/// The tap in row `j`, for all pixels that use it.
fn taps(code: &mut Code, [j, side]: [i32; 2], run: usize, vectors: usize) {
    code.say(format_args!(
        "let tap = tap_at(column, y + {j} * i32(p.step))"
    ));
    for v in 1..vectors {
        code.say(format_args!(
            "let more{v} = src[{v}u * p.width * p.height + tap.place]"
        ));
    }
    for k in (0..run).filter(|k| (*k as i32 - j).abs() <= side) {
        let spline = TAPS[(j - k as i32 + side) as usize];
        code.block("", |code| {
            code.say(format_args!(
                "let w = {spline:?} * across * weight(own{k}, tap)"
            ))
            .say(format_args!("total{k} += w"))
            .say(format_args!("sums{k}_0 += w * tap.value"));
            for v in 1..vectors {
                code.say(format_args!("sums{k}_{v} += w * more{v}"));
            }
        });
    }
}

/// The index of the level among the planes of the network.
fn level(kernel: &Level) -> Option<usize> {
    kernel.precision.checked_sub(match kernel.guided {
        Some(_) => PRECISION,
        None => DIVISOR,
    })
}

/// What the shader relies on. Single planes are for the CPU.
pub(super) fn needs(kernel: &Level, pass: &PassSlots<'_>) -> Vec<Need> {
    let (payload, guides) = (pass.reads[0], pass.reads[1]);
    let Some(level) = level(kernel).filter(|_| payload.element != Element::F32) else {
        return Vec::new();
    };
    let half = guides.element == Element::U32x4;
    let stored = if half { Element::F16x4 } else { Element::F32x4 };
    let image = |planes: usize| Need::planes(payload.size, planes).of(Element::F32x4);
    let network = |planes: usize| Need::planes(payload.size, planes).of(stored);
    let sets = kernel.first / GUIDES + 1;
    vec![
        image(payload.planes),
        match half {
            true => Need::planes(payload.size, sets).of(Element::U32x4),
            false => network(2 * sets),
        },
        network(level + 1),
        image(payload.planes),
    ]
}

pub(super) fn dispatch(kernel: &Level, pass: &PassSlots<'_>) -> Result<Dispatch> {
    let (size, vectors) = (pass.reads[0].size, pass.reads[0].planes);
    let Some(level) = level(kernel).filter(|_| kernel.step > 0) else {
        return Err(Error::unsupported("a level of the filter that is not one"));
    };
    // More sums would not stay in registers. Distant taps are all in different cache lines, so sharing them saves more.
    let run = match vectors {
        1 if kernel.step < 16 => 3,
        1 => 4,
        2 => 2,
        _ => 1,
    };
    let half = pass.reads[1].element == Element::U32x4;
    let source = Wgsl::default()
        .body(Params::WGSL)
        .constant("RUN", "u32", run)
        .constant("GUIDED", "bool", kernel.guided.is_some())
        .reads(1, "src", "vec4<f32>")
        .writes(4, "dst", "vec4<f32>")
        .body(match half {
            true if kernel.native && pass.target.f16 => include_str!("guides_native.wgsl"),
            true => include_str!("guides_half.wgsl"),
            false => include_str!("guides_full.wgsl"),
        })
        .body(include_str!("gpu.wgsl"))
        .entry(256, entry(run, vectors))
        .text();
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        step: kernel.step as u32,
        guides: (kernel.first / GUIDES) as u32,
        level: level as u32,
    };
    let lines = size.height.div_ceil(run * kernel.step) * kernel.step;
    let groups = [size.width.div_ceil(32) as u32, lines.div_ceil(8) as u32, 1];
    Ok(Dispatch::compute(source, &params, groups))
}
