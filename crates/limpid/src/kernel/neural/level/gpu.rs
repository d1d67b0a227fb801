//! A level on a GPU.

use super::Level;
use crate::definition::neural::{DIVISOR, GUIDES, PRECISION, TAPS};
use crate::kernel::{Dispatch, Site, WgslStruct};
use crate::params;
use crate::plan::Element;
use std::fmt::Write;

params! {
    /// Parameters of the shader.
    struct Params { width: u32, height: u32, step: u32, guides: u32, level: u32 }
}

const _: () = assert!(GUIDES == 8, "shaders read two vectors of guides");

/// The entry point. A thread makes `run` pixels that are each other's taps, so that most taps are read once for several of them.
fn entry(run: usize, vectors: usize) -> String {
    let mut s = String::from(
        "@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let line = group.y * 8u + lane / 32u;
    let x = i32(group.x * 32u + lane % 32u);
    let y = i32(line / p.step * RUN * p.step + line % p.step);
    if x >= i32(p.width) || y >= i32(p.height) {
        return;
    }
",
    );
    for k in 0..run {
        let _ = writeln!(s, "    let own{k} = pixel_at(x, row_at(y, {k}));");
        let _ = writeln!(s, "    var total{k} = 1e-12;");
        for v in 0..vectors {
            let _ = writeln!(s, "    var sums{k}_{v} = vec4(0.0);");
        }
    }
    s.push_str(
        "    for (var i = -2; i <= 2; i++) {
        let column = x + i * i32(p.step);
        if column < 0 || column >= i32(p.width) {
            continue;
        }
        let across = spline(i);
",
    );
    let side = TAPS.len() as i32 / 2;
    for j in -side..run as i32 + side {
        let _ = writeln!(
            s,
            "        if is_row(y, {j}) {{
            let tap = tap_at(column, y + {j} * i32(p.step));"
        );
        for v in 1..vectors {
            let _ = writeln!(
                s,
                "            let more{v} = src[{v}u * p.width * p.height + tap.place];"
            );
        }
        for k in (0..run).filter(|k| (*k as i32 - j).abs() <= side) {
            let _ = writeln!(
                s,
                "            {{
                let w = {:?} * across * weight(own{k}, tap);
                total{k} += w;
                sums{k}_0 += w * tap.value;",
                TAPS[(j - k as i32 + side) as usize],
            );
            for v in 1..vectors {
                let _ = writeln!(s, "                sums{k}_{v} += w * more{v};");
            }
            s.push_str("            }\n");
        }
        s.push_str("        }\n");
    }
    s.push_str("    }\n");
    for k in 0..run {
        let _ = writeln!(
            s,
            "    if is_row(y, {k}) {{
        let i = place_at(x, y + {k} * i32(p.step));
        dst[i] = result(sums{k}_0 / total{k});"
        );
        for v in 1..vectors {
            let _ = writeln!(
                s,
                "        dst[{v}u * p.width * p.height + i] = sums{k}_{v} / total{k};"
            );
        }
        s.push_str("    }\n");
    }
    s.push_str("}\n");
    s
}

pub(super) fn dispatch(kernel: &Level, site: &Site<'_>) -> Dispatch {
    let (size, vectors) = (site.reads[0].size, site.reads[0].planes);
    // More sums would not stay in registers. Of taps far away each is another line of the cache, so that sharing them is worth more.
    let run = match vectors {
        1 if kernel.step < 16 => 3,
        1 => 4,
        2 => 2,
        _ => 1,
    };
    let half = site.reads[1].element == Element::U32x4;
    let mut source = String::from(Params::WGSL);
    source.push_str(&format!(
        "const RUN: u32 = {run};
const GUIDED: bool = {};
@group(0) @binding(1) var<storage, read> src: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> dst: array<vec4<f32>>;
",
        kernel.guided.is_some()
    ));
    source.push_str(match half {
        true if kernel.native && site.target.f16 => include_str!("guides_native.wgsl"),
        true => include_str!("guides_half.wgsl"),
        false => include_str!("guides_full.wgsl"),
    });
    source.push_str(include_str!("gpu.wgsl"));
    source.push_str(&entry(run, vectors));
    let level = match kernel.guided {
        Some(_) => kernel.precision - PRECISION,
        None => kernel.precision - DIVISOR,
    };
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        step: kernel.step as u32,
        guides: (kernel.first / GUIDES) as u32,
        level: level as u32,
    };
    let lines = size.height.div_ceil(run * kernel.step) * kernel.step;
    let groups = [size.width.div_ceil(32) as u32, lines.div_ceil(8) as u32, 1];
    Dispatch::own(source, &params, groups)
}
