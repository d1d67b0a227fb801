//! WGSL from the algebra: a scheme's matrices become text.
//!
//! A workgroup loads a region of quads into registers, a few per thread. Each stage gets the samples that it needs of
//! other quads through workgroup memory, one cell per sample of the quad, or from other lanes of the sub-group. Samples
//! that did not change since they were shared are not shared again.

mod access;
mod region;
mod stage;

pub(super) use access::{load_coefficients, load_image, mirror, store_coefficients, store_image};

use super::{Level, keeps_mirrored};
use crate::kernel::{Kernel, Target};
use crate::plan::Home;
use crate::wavelet::{Direction, Scheme};
use crate::{Error, Result};
use region::{Exchange, Region};
use stage::Stages;
use std::fmt::Write;

/// The kernel's text behind its parameters, and the region it works on. `home` is where the image is read from.
pub(super) fn kernel(level: &Level, target: &Target, home: Home) -> Result<(String, Region)> {
    let scheme = Scheme::new(&level.lifting, level.scheme, level.direction);
    let mirrored = !keeps_mirrored(&level.lifting);
    let region = Region::new(&scheme, (level.mapping, level.direction), target, mirrored);
    let Some((tw, th)) = region.tile() else {
        return Err(Error::unsupported(format!(
            "scheme '{}' of this wavelet reaches too far for a workgroup; use a schedule in fragment passes, or the CPU",
            scheme.name
        )));
    };
    let (rw, _) = region.size();
    let [left, _, above, _] = region.margin;
    // Far from the borders an image is mirrored once at the most.
    let (w, h) = region.size();
    let small = (level.size.width as i32) < 4 * w || (level.size.height as i32) < 4 * h;
    let mut text = mirror(small).to_owned();
    match level.direction {
        Direction::Inverse => {
            text += &load_coefficients(1, level);
            text += &store_image(1 + level.contract().reads, level);
        }
        Direction::Forward | Direction::Adjoint => {
            text += &load_image(1, level, home);
            text += &store_coefficients(2, level);
        }
    }
    let _ = write!(
        text,
        "const TILE: vec2<i32> = vec2<i32>({tw}, {th});\nconst MARGIN: vec2<i32> = vec2<i32>({left}, {above});\n"
    );
    begin(&mut text, &region, mirrored);
    let (_, rh) = region.size();
    // Far from the borders nothing is mirrored and everything is kept: most regions.
    let _ = writeln!(
        text,
        "    let inside = all(origin >= vec2<i32>(0)) && all(2 * (origin + vec2<i32>({rw}, {rh})) <= vec2<i32>(vec2<u32>(p.width, p.height)));"
    );
    for k in 0..region.quads {
        let _ = writeln!(
            text,
            "    let r{k} = here + vec2<i32>(0, {});\n    var q{k}: vec4<f32>;",
            k * region.spacing(),
        );
        if region.cells() > 0 {
            let _ = writeln!(text, "    let at{k} = r{k}.y * {rw} + r{k}.x;");
        }
    }
    let each = |text: &mut String, one: &dyn Fn(i32, &str) -> String| {
        for (condition, suffix) in [("if inside", "_inside"), (" else", "")] {
            let _ = writeln!(text, "    {condition} {{");
            for k in 0..region.quads {
                let _ = writeln!(text, "    {}", one(k, suffix));
            }
            text.push_str("    }");
        }
        text.push('\n');
    };
    each(&mut text, &|k, suffix| {
        format!("q{k} = load{suffix}(origin + r{k}, plane);")
    });
    let mut stages = Stages::new(&region, mirrored);
    for stage in &scheme.stages {
        stages.write(&mut text, stage);
    }
    each(&mut text, &|k, suffix| {
        format!(
            "if all(r{k} >= MARGIN) && all(r{k} < MARGIN + TILE) {{ store{suffix}(origin + r{k}, plane, q{k}); }}"
        )
    });
    text.push_str("}\n");
    Ok((text, region))
}

/// The entry point up to where a thread stands.
fn begin(text: &mut String, region: &Region, mirrored: bool) {
    let (rw, rh) = region.size();
    let threads = region.threads();
    match region.exchange {
        Exchange::Memory { .. } => {
            if region.cells() > 0 {
                let _ = writeln!(text, "var<workgroup> cell: array<f32, {}>;", region.cells());
            }
            if mirrored {
                let last = rw * rh - 1;
                let _ = write!(
                    text,
                    "// Where a sample of a quad stands that may be beyond the border.\n\
                     fn place(r: vec2<i32>, origin: vec2<i32>, sample: vec2<i32>) -> i32 {{\n    \
                     let at = 2 * (origin + r) + sample;\n    \
                     let m = vec2<i32>(mirror(at.x, p.width), mirror(at.y, p.height)) / 2 - origin;\n    \
                     return clamp(m.y * {rw} + m.x, 0, {last});\n}}\n"
                );
            }
            let _ = write!(
                text,
                "@compute @workgroup_size({threads})\n\
                 fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {{\n    \
                 let here = vec2<i32>(i32(thread) % {rw}, i32(thread) / {rw});\n    \
                 let origin = vec2<i32>(group.xy) * TILE - MARGIN;\n    let plane = group.z;\n"
            );
        }
        Exchange::Lanes { size } => {
            let regions = region.regions();
            let _ = write!(
                text,
                "const LANES: u32 = {}u;\n@compute @workgroup_size({threads})\n\
                 fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(subgroup_id) part: u32, @builtin(subgroup_invocation_id) own: u32) {{\n    \
                 let lane = i32(own);\n    let here = vec2<i32>(lane, 0);\n    \
                 let origin = vec2<i32>(i32(group.x), i32(group.y * {regions}u + part)) * TILE - MARGIN;\n    let plane = group.z;\n",
                size - 1
            );
        }
    }
}
