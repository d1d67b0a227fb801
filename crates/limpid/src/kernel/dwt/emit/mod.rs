//! WGSL from the algebra: a scheme's matrices become text.
//!
//! A workgroup loads a region of quads into registers, a few per thread. Each stage gets the samples that it needs of
//! other quads through workgroup memory, one cell per sample of the quad; samples that did not change since they were
//! shared are not shared again. Or subgroups march down the image, see [`march`].

mod access;
mod march;
mod region;
mod stage;

pub(super) use access::{
    Access, load_coefficients, load_image, mirror, store_coefficients, store_image,
};

use super::plane::halves;
use super::{Level, keeps_mirrored};
use crate::kernel::{Kernel, Target};
use crate::plan::Home;
use crate::wavelet::{Direction, Scheme};
use crate::{Error, Result};
use region::{Exchange, Quads, Region};
use stage::Stages;
use std::fmt::Write;

/// The kernel's text behind its parameters, and the region it works on. `home` is where the image is read from, `packed` the
/// width of the packed image.
pub(super) fn kernel(
    level: &Level,
    target: &Target,
    (home, packed): (Home, usize),
) -> Result<(String, Region)> {
    let scheme = Scheme::new(&level.lifting, level.scheme, level.direction);
    let mirrored = !keeps_mirrored(&level.lifting);
    let quads = |n: usize| halves(n).0 as i32;
    let image = Quads {
        columns: quads(level.size.width),
        rows: quads(level.size.height),
        by_two: level.size.width.is_multiple_of(4) && packed.is_multiple_of(2),
    };
    let mapping = (level.mapping, level.direction);
    let region = Region::new(&scheme, mapping, image, target, mirrored);
    if region.tile().is_none() {
        return Err(Error::unsupported(format!(
            "scheme '{}' of this wavelet reaches too far for a workgroup; use a schedule in fragment passes, or the CPU",
            scheme.name
        )));
    }
    let (bytes, threads) = (4 * region.cells(), region.threads());
    if bytes > target.workgroup_bytes as i32 || threads > target.invocations as i32 {
        return Err(Error::unsupported(format!(
            "scheme '{}' by '{}' takes {threads} threads and {bytes} bytes of workgroup memory; this device has {} and {}",
            scheme.name, level.mapping, target.invocations, target.workgroup_bytes
        )));
    }
    let small = region.is_large_for(image);
    let mut text = mirror(small).to_owned();
    let access = match level.size.width.is_multiple_of(2) {
        _ if region.across == 2 => Access::Twos,
        // Small images have fewer kernels and no need to be fast.
        true if !small => Access::Pairs,
        _ => Access::Samples,
    };
    match level.direction {
        Direction::Inverse => {
            text += &load_coefficients(1, level, access);
            text += &store_image(1 + level.contract().reads, access);
        }
        Direction::Forward | Direction::Adjoint => {
            text += &load_image(1, home, access);
            text += &store_coefficients(2, level, access);
        }
    }
    match region.exchange {
        Exchange::Memory { .. } => {
            let places = Places { small };
            let work = Work {
                mirrored,
                memoryless: level.mapping.memoryless(),
            };
            memory(&mut text, (&region, places), &scheme, work);
        }
        Exchange::Lanes { .. } => march::main(&mut text, (&region, Places { small }), &scheme),
    }
    Ok((text, region))
}

/// Where regions stand.
#[derive(Debug, Clone, Copy)]
struct Places {
    /// Whether the image is so small that few of them stand inside of it.
    small: bool,
}

impl Places {
    /// Writes text for regions inside the image, where nothing is mirrored and everything is kept, and for others. Small
    /// images take the second for all: code that runs once takes longer to fetch than to run.
    fn each(self, text: &mut String, one: &dyn Fn(&mut String, &str)) {
        if self.small {
            return one(text, "");
        }
        for (condition, suffix) in [("if inside", "_inside"), (" else", "")] {
            let _ = writeln!(text, "    {condition} {{");
            one(text, suffix);
            text.push_str("    }");
        }
        text.push('\n');
    }
}

/// What a region does beside the scheme.
#[derive(Debug, Clone, Copy)]
struct Work {
    /// Whether steps mirror what they read.
    mirrored: bool,
    /// Whether quads are made up, and kept only if they have a value that none has.
    memoryless: bool,
}

/// The entry point of a region that shares memory.
fn memory(text: &mut String, (region, places): (&Region, Places), scheme: &Scheme, work: Work) {
    let mirrored = work.mirrored;
    let (rw, rh) = region.size();
    let (tw, th) = region.tile().unwrap_or_default();
    let [left, _, above, _] = region.margin;
    let _ = write!(
        text,
        "const TILE: vec2<i32> = vec2<i32>({tw}, {th});\nconst MARGIN: vec2<i32> = vec2<i32>({left}, {above});\n"
    );
    begin(text, region, mirrored);
    // Far from the borders nothing is mirrored and everything is kept: most regions.
    let _ = writeln!(
        text,
        "    let inside = all(origin >= vec2<i32>(0)) && all(2 * (origin + vec2<i32>({rw}, {rh})) <= vec2<i32>(vec2<u32>(p.width, p.height)));"
    );
    for k in 0..region.quads {
        let _ = writeln!(
            text,
            "    let r{k} = here + vec2<i32>(0, {});\n    var q{k}: vec4<f32>;",
            k * region.group.1,
        );
        if region.cells() > 0 {
            let _ = writeln!(text, "    let at{k} = r{k}.y * {rw} + r{k}.x;");
        }
    }
    let each = |text: &mut String, one: &dyn Fn(i32, &str) -> String| {
        places.each(text, &|text, suffix| {
            for k in 0..region.quads {
                let _ = writeln!(text, "    {}", one(k, suffix));
            }
        });
    };
    each(text, &|k, suffix| {
        if work.memoryless {
            return format!("q{k} = vec4<f32>(vec2<f32>(origin), vec2<f32>(r{k})) * 0.125;");
        }
        format!("q{k} = load{suffix}(origin + r{k}, plane);")
    });
    let mut stages = Stages::new(region, mirrored);
    for stage in &scheme.stages {
        stages.write(text, stage);
    }
    let kept = |k: i32| match work.memoryless {
        true => format!(" && q{k}.x == -1.25e30"),
        false => String::new(),
    };
    each(text, &|k, suffix| {
        let kept = kept(k);
        format!(
            "if all(r{k} >= MARGIN) && all(r{k} < MARGIN + TILE){kept} {{ store{suffix}(origin + r{k}, plane, q{k}); }}"
        )
    });
    text.push_str("}\n");
}

/// The entry point up to where a thread stands.
fn begin(text: &mut String, region: &Region, mirrored: bool) {
    let (rw, rh) = region.size();
    let threads = region.threads();
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
