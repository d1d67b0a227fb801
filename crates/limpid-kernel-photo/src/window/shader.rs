//! Generates whole shaders: how texels are read, which invocation computes which pixel, and where results are stored.

use super::emit::{Emit, UNROLLED, number};
use super::{Exchange, Filter, Walk, WindowAxis};
use limpid_core::{Error, Result};
use limpid_plan::params;
use limpid_plan::wgsl::{Code, PIXELS, Wgsl};
use limpid_plan::{Dispatch, PassSlots, WgslStruct, tiles};

params! {
    /// Parameters of the shaders that work on buffers.
    struct Params { width: u32, height: u32, planes: u32 }
}

/// `sums(x, y)` of a window.
const SUMS: &str = "sums(x: i32, y: i32) -> Sums";

/// A fragment shader on texels with a margin.
pub(super) fn fragment(filter: Filter, radius: usize, walk: Walk) -> Dispatch {
    let emit = Emit::new(filter, radius);
    let source = emit.declared().body(include_str!("texels.wgsl"));
    let source = match walk {
        Walk::Quad { exchange, coarse } => source
            .body(include_str!("quad_place.wgsl"))
            .body(match coarse {
                true => include_str!("swap_coarse.wgsl"),
                false => include_str!("swap_fine.wgsl"),
            })
            .statements(SUMS, emit.quad(exchange)),
        _ => source.statements(SUMS, emit.all("texel")),
    };
    let source = source.body(match filter.results() {
        1 => include_str!("fragment_one.wgsl"),
        _ => include_str!("fragment_two.wgsl"),
    });
    Dispatch::fragment(source.text(), &())
}

/// Bindings of buffers with this many planes, and the declarations of the filter.
fn buffers(emit: &Emit, planes: usize) -> Wgsl {
    let source = emit
        .declared()
        .body(Params::WGSL)
        .reads(1, "src", "f32")
        .writes(2, "dst", "f32");
    match emit.filter.results() {
        1 => source,
        _ => source.writes(3, "other", "f32"),
    }
    .constant("PLANES", "i32", planes)
}

/// The same with `texel` and `store`.
fn pixels(emit: &Emit, planes: usize) -> Wgsl {
    let value = |plane: usize| match plane < planes {
        true => format!("src[at + {plane} * n]"),
        false => "0.0".to_owned(),
    };
    let texel = format!("vec4<f32>({}, {}, {}, 1.0)", value(0), value(1), value(2));
    buffers(emit, planes)
        .function("planes_at(at: i32, n: i32) -> vec4<f32>", texel)
        .body(include_str!("buffers.wgsl"))
        .body(match emit.filter.results() {
            1 => include_str!("store_one.wgsl"),
            _ => include_str!("store_two.wgsl"),
        })
}

/// A shader whose workgroups compute `wide` × `high` pixels of all planes.
fn compute(pass: &PassSlots<'_>, source: Wgsl, tile: [u32; 2]) -> Dispatch {
    layered(pass, source, tile, 1)
}

/// The same with this many layers of the grid.
fn layered(pass: &PassSlots<'_>, source: Wgsl, [wide, high]: [u32; 2], layers: usize) -> Dispatch {
    let (size, planes) = (pass.reads[0].size, pass.reads[0].planes as u32);
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        planes,
    };
    let [x, y, _] = tiles(size, wide, high);
    Dispatch::compute(source.text(), &params, [x, y, layers as u32])
}

/// All taps from buffers.
pub(super) fn direct(filter: Filter, radius: usize, pass: &PassSlots<'_>) -> Dispatch {
    let (emit, planes) = (Emit::new(filter, radius), pass.reads[0].planes);
    let source = pixels(&emit, planes);
    if let Some(rows) = column_rows(filter, radius) {
        let source = source
            .constant("ROWS", "i32", rows)
            .statements("column_inside(x: i32, y: i32)", emit.column("inner", rows))
            .statements("column(x: i32, y: i32)", emit.column("texel", rows))
            .body(include_str!("column.wgsl"));
        return compute(pass, source, [32, 8 * rows as u32]);
    }
    let source = source
        .statements("sums_inside(x: i32, y: i32) -> Sums", emit.all("inner"))
        .statements(SUMS, emit.all("texel"))
        .body(include_str!("direct.wgsl"))
        .body(PIXELS);
    compute(pass, source, [32, 8])
}

/// Vertically adjacent pixels per invocation of the bilateral filter: each tap is read once for all of them, which halves the
/// reads of 3×3. Wider windows would exhaust the registers.
fn column_rows(filter: Filter, radius: usize) -> Option<i64> {
    match (filter, radius) {
        (Filter::Bilateral { .. }, 1..=3) => Some(4),
        _ => None,
    }
}

/// All taps from a tile of texels in workgroup memory.
pub(super) fn tile(filter: Filter, radius: usize, pass: &PassSlots<'_>) -> Result<Dispatch> {
    let (emit, planes) = (Emit::new(filter, radius), pass.reads[0].planes);
    let span = 16 + 2 * radius;
    if 16 * span * span > pass.target.workgroup_bytes as usize {
        return Err(Error::unsupported(format!(
            "a tile with radius {radius} needs {} bytes of workgroup memory, the device has {}; use another schedule",
            16 * span * span,
            pass.target.workgroup_bytes
        )));
    }
    let source = pixels(&emit, planes)
        .statements(SUMS, emit.all("held"))
        .body(include_str!("tile.wgsl"));
    Ok(compute(pass, source, [16, 16]))
}

/// Quads of lanes share their sums, from buffers.
pub(super) fn quad(filter: Filter, radius: usize, pass: &PassSlots<'_>) -> Dispatch {
    let (emit, planes) = (Emit::new(filter, radius), pass.reads[0].planes);
    let source = pixels(&emit, planes)
        .body(include_str!("quad_place.wgsl"))
        .body(match pass.target.subgroup {
            Some(_) => include_str!("swap_subgroup.wgsl"),
            None => include_str!("swap_workgroup.wgsl"),
        })
        .statements(SUMS, emit.quad(Exchange::Sums))
        .body(include_str!("quad.wgsl"));
    compute(pass, source, [32, 8])
}

/// Both axes from workgroup memory, in one pass; the result is packed with three planes into vectors of four, if these are
/// read.
pub(super) fn separable(filter: Filter, radius: usize, pass: &PassSlots<'_>) -> Result<Dispatch> {
    let emit = Emit::new(filter, radius);
    let span = 32 + 2 * radius;
    let bytes = 4 * span * (span + 32);
    if bytes > pass.target.workgroup_bytes as usize {
        return Err(Error::unsupported(format!(
            "a tile with radius {radius} needs {bytes} bytes of workgroup memory, the device has {}; use schedule two-pass",
            pass.target.workgroup_bytes
        )));
    }
    let (bound, store) = match pass.reads.len() {
        1 => (buffers(&emit, 1), "dst[at] = v"),
        _ => {
            let bound = emit.declared().body(Params::WGSL);
            let bound = bound.slots(pass, &["src", "colors", "dst"]);
            let beside = "dst[at] = vec4(colors[at], colors[at + n], colors[at + 2 * n], v)";
            (bound, beside)
        }
    };
    let source = weighed(&emit, bound)
        .procedure("store(at: i32, n: i32, v: f32)", store)
        .statements("along(at: i32) -> f32", window(&emit, "tile", "1"))
        .statements("down(at: i32) -> f32", window(&emit, "rows", "32"))
        .body(include_str!("separable.wgsl"));
    // The plane that is packed with others is the only one.
    let layers = if pass.reads.len() == 1 {
        planes(pass)
    } else {
        1
    };
    Ok(layered(pass, source, [32, 32], layers))
}

/// The sum of a `slot`'s values along an axis, away from its ends.
fn window(emit: &Emit, slot: &str, stride: &str) -> Code {
    let mut code = Code::default();
    code.say("var sum = 0.0");
    emit.each(&mut code, "i", 1, |code, i| {
        let (side, at) = (emit.side(i), &i.text);
        code.say(format_args!("sum += {side} * {slot}[at + {at} * {stride}]"));
    });
    code.say("return sum");
    code
}

/// The weights of a filter of rank one along an axis.
fn weighed(emit: &Emit, bound: Wgsl) -> Wgsl {
    let r = emit.radius;
    let all = (-r..=r).filter_map(|i| emit.filter.side(i)).sum();
    bound
        .constant("ALL_SIDES", "f32", number(all))
        .body(include_str!("weights.wgsl"))
}

/// The code shared by both forms of an axis.
fn along(axis: &WindowAxis, emit: &Emit, slot: &str) -> Wgsl {
    weighed(emit, buffers(emit, 1))
        .constant("VERTICAL", "bool", axis.vertical)
        .statements(
            "window(at: i32, stride: i32) -> f32",
            window(emit, slot, "stride"),
        )
}

/// One axis from buffers, a plane per layer of the grid.
pub(super) fn axis(axis: &WindowAxis, pass: &PassSlots<'_>) -> Dispatch {
    let emit = Emit::new(axis.filter, axis.radius);
    let source = along(axis, &emit, "src").body(include_str!("axis.wgsl"));
    layered(pass, source, [32, 8], planes(pass))
}

/// Planes that are filtered, each by a layer of the grid.
fn planes(pass: &PassSlots<'_>) -> usize {
    pass.reads[0].planes
}

/// One axis from workgroup memory.
pub(super) fn axis_tile(axis: &WindowAxis, pass: &PassSlots<'_>) -> Result<Dispatch> {
    let emit = Emit::new(axis.filter, axis.radius);
    let r = axis.radius;
    let (words, tile) = match axis.vertical {
        true => (32 * (32 + 2 * r), [32, 32]),
        false => (128 + 2 * r, [128, 1]),
    };
    if 4 * words > pass.target.workgroup_bytes as usize {
        return Err(Error::unsupported(format!(
            "columns with radius {r} need {} bytes of workgroup memory, the device has {}; use schedule two-pass",
            4 * words,
            pass.target.workgroup_bytes
        )));
    }
    let source = along(axis, &emit, "tile").body(match axis.vertical {
        true => include_str!("tile_columns.wgsl"),
        false => include_str!("tile_rows.wgsl"),
    });
    Ok(layered(pass, source, tile, planes(pass)))
}

/// One axis from a linear sampler: adjacent taps with weights `a` and `b` are one read at `b / (a + b)` between them, with
/// weight `a + b`. The first pass, along rows, keeps the margin above and below for the second.
pub(super) fn linear(axis: &WindowAxis) -> Dispatch {
    let r = axis.radius as i64;
    let side = |i: i64| axis.filter.side(i).filter(|_| i <= r).unwrap_or(0.0);
    let mut sums = Code::default();
    sums.say("var a = vec4<f32>(0.0)");
    for i in (-r..=r).step_by(2) {
        let (a, b) = (side(i), side(i + 1));
        if a + b > 0.0 {
            let at = i as f64 + b / (a + b) + axis.radius as f64;
            sums.say(format_args!(
                "a += {} * sampled({})",
                number(a + b),
                number(at)
            ));
        }
    }
    sums.say("return a");
    let source = Wgsl::default()
        .constant("VERTICAL", "bool", axis.vertical)
        .body(include_str!("linear.wgsl"))
        .statements("sums() -> vec4<f32>", sums);
    Dispatch::fragment(source.text(), &()).with_sampler()
}

const _: () = assert!(UNROLLED >= 3, "the paper's windows are written out");
