//! Whole shaders: how texels are reached, which invocation makes which pixel, and where results go.

use super::emit::{Emit, UNROLLED, number};
use super::{Exchange, Filter, Walk, WindowAxis};
use crate::kernel::{Dispatch, Site, WgslStruct, tiles};
use crate::params;
use crate::{Error, Result};
use std::fmt::Write;

params! {
    /// Parameters of the shaders that work on buffers.
    struct Params { width: u32, height: u32, planes: u32 }
}

/// A fragment shader on texels with a margin.
pub(super) fn fragment(filter: Filter, radius: usize, walk: Walk) -> Dispatch {
    let emit = Emit::new(filter, radius);
    let (swaps, sums) = match walk {
        Walk::Quad { exchange, coarse } => (
            derivative_swaps(if coarse { "Coarse" } else { "Fine" }),
            format!("quad_place(x, y);\n{}", emit.quad(exchange)),
        ),
        _ => (String::new(), emit.all("texel")),
    };
    let (out, given) = match filter.results() {
        1 => ("", "Out(vec4<f32>(first, 1.0))"),
        _ => (
            "@location(1) second: vec4<f32>,",
            "Out(vec4<f32>(first, 1.0), vec4<f32>(second, 1.0))",
        ),
    };
    let source = format!(
        "@group(0) @binding(1) var src: texture_2d<f32>;\n\
         fn texel(x: i32, y: i32) -> vec4<f32> {{\n    \
         return textureLoad(src, vec2<i32>(x + {radius}, y + {radius}), 0);\n}}\n\
         {swaps}{}struct Out {{ @location(0) first: vec4<f32>, {out} }}\n\
         @fragment\nfn main(@builtin(position) at: vec4<f32>) -> Out {{\n\
         let x = i32(at.x);\nlet y = i32(at.y);\n{sums}{}return {given};\n}}\n",
        emit.functions(),
        emit.finish(),
    );
    Dispatch::own_fragment(source, &())
}

/// Exchanges by derivatives, Eq. 9 and 10.
fn derivative_swaps(kind: &str) -> String {
    format!(
        "var<private> tx: i32;\nvar<private> ty: i32;\n\
         fn quad_place(x: i32, y: i32) {{ tx = 1 - 2 * (x & 1); ty = 1 - 2 * (y & 1); }}\n\
         fn swap_x(v: vec4<f32>) -> vec4<f32> {{ return v + f32(tx) * dpdx{kind}(v); }}\n\
         fn swap_y(v: vec4<f32>) -> vec4<f32> {{ return v + f32(ty) * dpdy{kind}(v); }}\n"
    )
}

/// Buffers, and a `texel` that gives zero outside the image.
fn buffers(filter: Filter, planes: usize) -> String {
    let second = match filter.results() {
        1 => "",
        _ => "@group(0) @binding(3) var<storage, read_write> other: array<f32>;\n",
    };
    let value = |plane: usize| match plane {
        0 => "src[at]".to_owned(),
        p if p < planes => format!("src[at + {p} * n]"),
        _ => "0.0".to_owned(),
    };
    let texel = format!("vec4<f32>({}, {}, {}, 1.0)", value(0), value(1), value(2));
    format!(
        "{}@group(0) @binding(1) var<storage, read> src: array<f32>;\n\
         @group(0) @binding(2) var<storage, read_write> dst: array<f32>;\n{second}\
         fn inner(x: i32, y: i32) -> vec4<f32> {{\n    \
         let n = i32(p.width * p.height);\n    let at = y * i32(p.width) + x;\n    return {texel};\n}}\n\
         fn texel(x: i32, y: i32) -> vec4<f32> {{\n    \
         let cx = clamp(x, 0, i32(p.width) - 1);\n    let cy = clamp(y, 0, i32(p.height) - 1);\n    \
         return select(vec4<f32>(0.0), inner(cx, cy), cx == x && cy == y);\n}}\n",
        Params::WGSL
    )
}

/// Writes the results of the pixel `(px, py)`.
fn store(filter: Filter, planes: usize) -> String {
    let mut text =
        String::from("let n = i32(p.width * p.height);\nlet at = py * i32(p.width) + px;\n");
    for (into, from) in [("dst", "first"), ("other", "second")]
        .iter()
        .take(filter.results())
    {
        for plane in 0..planes {
            let _ = writeln!(text, "{into}[at + {plane} * n] = {from}[{plane}];");
        }
    }
    text
}

/// The start of a compute shader: lanes of a `wide` × `256 / wide` block.
const HEAD: &str = "fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n";
const OUTSIDE: &str = "if px >= i32(p.width) || py >= i32(p.height) { return; }\n";

/// A shader whose workgroups make `wide` × `high` pixels.
fn compute(site: &Site<'_>, source: String, [wide, high]: [u32; 2]) -> Dispatch {
    let (size, planes) = (site.reads[0].size, site.reads[0].planes as u32);
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        planes,
    };
    Dispatch::own(source, &params, tiles(size, wide, high))
}

/// All taps from buffers; pixels away from the border need no tests.
pub(super) fn direct(filter: Filter, radius: usize, site: &Site<'_>) -> Dispatch {
    if let Some(rows) = column_rows(filter, radius) {
        return column(filter, radius, rows, site);
    }
    let (emit, planes) = (Emit::new(filter, radius), site.reads[0].planes);
    let store = format!("{}{}", emit.finish(), store(filter, planes));
    let source = format!(
        "{}{}@compute @workgroup_size(256)\n{HEAD}\
         let px = i32(group.x * 32u + lane % 32u);\nlet py = i32(group.y * 8u + lane / 32u);\n{OUTSIDE}\
         let x = px;\nlet y = py;\n\
         if x >= {radius} && y >= {radius} && x + {radius} < i32(p.width) && y + {radius} < i32(p.height) {{\n\
         {}{store}}} else {{\n{}{store}}}\n}}\n",
        buffers(filter, planes),
        emit.functions(),
        emit.all("inner"),
        emit.all("texel"),
    );
    compute(site, source, [32, 8])
}

/// Pixels one below the other that one invocation of the bilateral filter makes: each tap is read for all of them, which
/// halves the reads of 3×3. Wider windows would need more registers than there are.
fn column_rows(filter: Filter, radius: usize) -> Option<i64> {
    match (filter, radius) {
        (Filter::Bilateral { .. }, 1..=3) => Some(4),
        _ => None,
    }
}

/// The same with several pixels for each invocation.
fn column(filter: Filter, radius: usize, rows: i64, site: &Site<'_>) -> Dispatch {
    let (emit, planes) = (Emit::new(filter, radius), site.reads[0].planes);
    let store: String = (0..rows)
        .map(|k| {
            format!(
                "if py + {k} < i32(p.height) {{\nlet a = a{k};\nlet py = y + {k};\n{}{}}}\n",
                emit.finish(),
                store(filter, planes)
            )
        })
        .collect();
    let source = format!(
        "{}{}@compute @workgroup_size(256)\n{HEAD}\
         let px = i32(group.x * 32u + lane % 32u);\nlet py = i32(group.y * 8u + lane / 32u) * {rows};\n{OUTSIDE}\
         let x = px;\nlet y = py;\n\
         if x >= {radius} && y >= {radius} && x + {radius} < i32(p.width) && y + {} < i32(p.height) {{\n\
         {}{store}}} else {{\n{}{store}}}\n}}\n",
        buffers(filter, planes),
        emit.functions(),
        rows - 1 + radius as i64,
        emit.column("inner", rows),
        emit.column("texel", rows),
    );
    compute(site, source, [32, 8 * rows as u32])
}

/// All taps from a tile of texels in workgroup memory.
pub(super) fn tile(filter: Filter, radius: usize, site: &Site<'_>) -> Result<Dispatch> {
    let (emit, planes) = (Emit::new(filter, radius), site.reads[0].planes);
    let span = 16 + 2 * radius;
    if 16 * span * span > site.target.workgroup_bytes as usize {
        return Err(Error::unsupported(format!(
            "a tile with radius {radius} needs {} bytes of workgroup memory, the device has {}; use another schedule",
            16 * span * span,
            site.target.workgroup_bytes
        )));
    }
    let source = format!(
        "{}{}var<workgroup> tile: array<vec4<f32>, {span} * {span}>;\n\
         fn held(x: i32, y: i32) -> vec4<f32> {{ return tile[y * {span} + x]; }}\n\
         @compute @workgroup_size(256)\n{HEAD}\
         let left = i32(group.x * 16u) - {radius};\nlet top = i32(group.y * 16u) - {radius};\n\
         for (var k = lane; k < {span}u * {span}u; k += 256u) {{\n    \
         tile[k] = texel(left + i32(k % {span}u), top + i32(k / {span}u));\n}}\n\
         workgroupBarrier();\n\
         let x = i32(lane % 16u) + {radius};\nlet y = i32(lane / 16u) + {radius};\n\
         let px = left + x;\nlet py = top + y;\n{OUTSIDE}{}{}{}}}\n",
        buffers(filter, planes),
        emit.functions(),
        emit.all("held"),
        emit.finish(),
        store(filter, planes),
    );
    Ok(compute(site, source, [16, 16]))
}

/// Quads of lanes share their sums, from buffers.
pub(super) fn quad(filter: Filter, radius: usize, site: &Site<'_>) -> Dispatch {
    let (emit, planes) = (Emit::new(filter, radius), site.reads[0].planes);
    let swaps = match site.target.subgroup {
        Some(_) => {
            "fn swap_x(v: vec4<f32>) -> vec4<f32> { return quadSwapX(v); }\n\
             fn swap_y(v: vec4<f32>) -> vec4<f32> { return quadSwapY(v); }\n"
        }
        // Without subgroups the exchange goes through workgroup memory.
        None => {
            "var<workgroup> mail: array<vec4<f32>, 256>;\n\
             fn post(v: vec4<f32>, to: u32) -> vec4<f32> {\n    \
             workgroupBarrier();\n    mail[own] = v;\n    workgroupBarrier();\n    return mail[to];\n}\n\
             fn swap_x(v: vec4<f32>) -> vec4<f32> { return post(v, own ^ 1u); }\n\
             fn swap_y(v: vec4<f32>) -> vec4<f32> { return post(v, own ^ 2u); }\n"
        }
    };
    let source = format!(
        "{}{}var<private> tx: i32;\nvar<private> ty: i32;\nvar<private> own: u32;\n{swaps}\
         @compute @workgroup_size(256)\n{HEAD}\
         own = lane;\nlet quad = lane / 4u;\n\
         let px = i32(group.x * 32u + 2u * (quad % 16u) + lane % 2u);\n\
         let py = i32(group.y * 8u + 2u * (quad / 16u) + lane / 2u % 2u);\n\
         let x = px;\nlet y = py;\ntx = 1 - 2 * (x & 1);\nty = 1 - 2 * (y & 1);\n\
         {}{}{OUTSIDE}{}}}\n",
        buffers(filter, planes),
        emit.functions(),
        emit.quad(Exchange::Sums),
        emit.finish(),
        store(filter, planes),
    );
    compute(site, source, [32, 8])
}

/// Declares `total(at, n)`: the sum of the factors that fall inside, for a pixel at `at` of `n`.
fn total(emit: &Emit) -> String {
    let r = emit.radius;
    format!(
        "fn total(at: i32, n: i32) -> f32 {{\n    var sum = 0.0;\n    \
         for (var i = max(-{r}, -at); i <= min({r}, n - 1 - at); i++) {{ sum += side(i); }}\n    return sum;\n}}\n"
    )
}

/// One axis from buffers, a plane per layer of the grid.
pub(super) fn axis(axis: &WindowAxis, site: &Site<'_>) -> Dispatch {
    let emit = Emit::new(axis.filter, axis.radius);
    let r = axis.radius;
    let (here, last, stride) = if axis.vertical {
        ("py", "i32(p.height)", "i32(p.width)")
    } else {
        ("px", "i32(p.width)", "1")
    };
    let whole = emit.each("i", 1, |i| {
        format!(
            "sum += {} * src[at + {} * {stride}];\n",
            emit.side(i),
            i.text
        )
    });
    let source = format!(
        "{}{}{}@compute @workgroup_size(256)\n{HEAD}\
         let px = i32(group.x * 32u + lane % 32u);\nlet py = i32(group.y * 8u + lane / 32u);\n{OUTSIDE}\
         let at = i32(group.z * p.width * p.height) + py * i32(p.width) + px;\n\
         let here = {here};\nlet last = {last} - 1;\nvar sum = 0.0;\nvar weights = {};\n\
         if here >= {r} && here + {r} <= last {{\n{whole}}} else {{\n    \
         for (var i = max(-{r}, -here); i <= min({r}, last - here); i++) {{ sum += side(i) * src[at + i * {stride}]; }}\n    \
         weights = total(here, last + 1);\n}}\ndst[at] = sum / weights;\n}}\n",
        buffers(axis.filter, 1),
        emit.functions(),
        total(&emit),
        full(axis),
    );
    let mut dispatch = compute(site, source, [32, 8]);
    planes_in_z(&mut dispatch, site);
    dispatch
}

/// The sum of all factors, as WGSL.
fn full(axis: &WindowAxis) -> String {
    let r = axis.radius as i64;
    number((-r..=r).filter_map(|i| axis.filter.side(i)).sum())
}

fn planes_in_z(dispatch: &mut Dispatch, site: &Site<'_>) {
    if let crate::kernel::Stage::Compute { groups } = &mut dispatch.stage {
        groups[2] = site.reads[0].planes as u32;
    }
}

/// One axis from workgroup memory: 128×1 pixels along rows, 32×32 along columns, where neighbours in a row must be
/// read together.
pub(super) fn axis_tile(axis: &WindowAxis, site: &Site<'_>) -> Result<Dispatch> {
    let emit = Emit::new(axis.filter, axis.radius);
    let r = axis.radius;
    let words = if axis.vertical {
        32 * (32 + 2 * r)
    } else {
        128 + 2 * r
    };
    if 4 * words > site.target.workgroup_bytes as usize {
        return Err(Error::unsupported(format!(
            "columns with radius {r} need {} bytes of workgroup memory, the device has {}; use schedule two-pass",
            4 * words,
            site.target.workgroup_bytes
        )));
    }
    let sum = |stride: usize| {
        emit.each("i", 1, |i| {
            format!(
                "sum += {} * tile[here + {} * {stride}];\n",
                emit.side(i),
                i.text
            )
        })
    };
    let body = if axis.vertical {
        format!(
            "let left = i32(group.x * 32u);\nlet top = i32(group.y * 32u) - {r};\nlet px = left + i32(lane % 32u);\n\
             let cx = min(px, i32(p.width) - 1);\n\
             for (var k = i32(lane / 32u); k < 32 + 2 * {r}; k += 4) {{\n    let y = top + k;\n    \
             let cy = clamp(y, 0, i32(p.height) - 1);\n    \
             tile[k * 32 + i32(lane % 32u)] = select(0.0, src[base + cy * i32(p.width) + cx], y == cy);\n}}\n\
             workgroupBarrier();\n\
             for (var k = i32(lane / 32u); k < 32; k += 4) {{\n    let py = top + {r} + k;\n    \
             if px < i32(p.width) && py < i32(p.height) {{\n        \
             let here = (k + {r}) * 32 + i32(lane % 32u);\n        var sum = 0.0;\n{}        \
             dst[base + py * i32(p.width) + px] = sum / weights(py, i32(p.height));\n    }}\n}}\n",
            sum(32)
        )
    } else {
        format!(
            "let left = i32(group.x * 128u) - {r};\nlet py = i32(group.y);\nlet row = base + py * i32(p.width);\n\
             for (var k = i32(lane); k < 128 + 2 * {r}; k += 128) {{\n    let x = left + k;\n    \
             let cx = clamp(x, 0, i32(p.width) - 1);\n    tile[k] = select(0.0, src[row + cx], x == cx);\n}}\n\
             workgroupBarrier();\n\
             let px = left + {r} + i32(lane);\nif px >= i32(p.width) {{ return; }}\n\
             let here = i32(lane) + {r};\nvar sum = 0.0;\n{}dst[row + px] = sum / weights(px, i32(p.width));\n",
            sum(1)
        )
    };
    let source = format!(
        "{}{}{}fn weights(at: i32, n: i32) -> f32 {{\n    \
         if at >= {r} && at + {r} < n {{ return {}; }}\n    return total(at, n);\n}}\n\
         var<workgroup> tile: array<f32, {words}>;\n\
         @compute @workgroup_size(128)\n{HEAD}\
         let base = i32(group.z * p.width * p.height);\n{body}}}\n",
        buffers(axis.filter, 1),
        emit.functions(),
        total(&emit),
        full(axis),
    );
    let mut dispatch = compute(site, source, [32, 8]);
    let size = site.reads[0].size;
    dispatch.stage = crate::kernel::Stage::Compute {
        groups: if axis.vertical {
            tiles(size, 32, 32)
        } else {
            tiles(size, 128, 1)
        },
    };
    planes_in_z(&mut dispatch, site);
    Ok(dispatch)
}

/// One axis from a linear sampler: neighbouring taps with weights `a` and `b` are one read at `b / (a + b)` between
/// them, with weight `a + b`. The first pass, along rows, keeps the margin above and below for the second.
pub(super) fn linear(axis: &WindowAxis) -> Dispatch {
    let r = axis.radius as i64;
    let side = |i: i64| axis.filter.side(i).filter(|_| i <= r).unwrap_or(0.0);
    let mut reads = String::new();
    for i in (-r..=r).step_by(2) {
        let (a, b) = (side(i), side(i + 1));
        if a + b > 0.0 {
            let at = i as f64 + b / (a + b) + axis.radius as f64;
            let (w, at) = (number(a + b), number(at));
            let _ = writeln!(reads, "a += {w} * sampled({at});");
        }
    }
    let (x, y, out) = if axis.vertical {
        ("at.x", "at.y + offset", "vec4<f32>(a.rgb / a.a, 1.0)")
    } else {
        ("at.x + offset", "at.y", "a")
    };
    let source = format!(
        "@group(0) @binding(1) var src: texture_2d<f32>;\n@group(0) @binding(2) var smooth_sampler: sampler;\n\
         var<private> at: vec2<f32>;\n\
         fn sampled(offset: f32) -> vec4<f32> {{\n    let uv = vec2<f32>({x}, {y}) / vec2<f32>(textureDimensions(src));\n    \
         return textureSampleLevel(src, smooth_sampler, uv, 0.0);\n}}\n\
         @fragment\nfn main(@builtin(position) place: vec4<f32>) -> @location(0) vec4<f32> {{\n\
         at = place.xy;\nvar a = vec4<f32>(0.0);\n{reads}return {out};\n}}\n"
    );
    Dispatch::own_fragment(source, &()).with_sampler()
}

const _: () = assert!(UNROLLED >= 3, "the paper's windows are written out");
