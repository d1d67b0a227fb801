//! Generates WGSL from the matrices of a scheme.
//!
//! A workgroup loads a region of quads into registers, a few per thread. Each stage exchanges samples with other quads through
//! workgroup memory, one cell per sample of the quad; samples that have not changed since the last exchange are not written
//! again. Alternatively subgroups march down the image, see [`march`].

mod access;
mod march;
mod region;
mod stage;

pub(super) use access::{
    Access, load_coefficients, load_image, mirror, store_coefficients, store_image,
};
pub(super) use stage::quad;

use super::plane::halves;
use super::{Level, Params, keeps_mirrored};
use limpid_core::{Error, Result};
use limpid_plan::Backing;
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_plan::{Kernel, Target, WgslStruct};
use limpid_wavelet::{Direction, Scheme};
use region::{Exchange, Quads, Region};
use stage::Stages;

/// The text of the kernel and its region. `backing` is where the image is stored, `packed` the width of the packed image.
pub(super) fn kernel(
    level: &Level,
    target: &Target,
    (backing, packed): (Backing, usize),
) -> Result<(Wgsl, Region)> {
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
    let text = Wgsl::default().body(Params::WGSL).body(mirror(small));
    let access = match level.size.width.is_multiple_of(2) {
        _ if region.across == 2 && region.banks() == 0 => Access::Twos,
        // Small images need few kernels, and speed does not matter for them.
        true if !small => Access::Pairs,
        _ => Access::Samples,
    };
    let text = match level.direction {
        Direction::Inverse => {
            let text = load_coefficients(text, 1, level, access);
            store_image(text, 1 + level.contract().reads, access)
        }
        Direction::Forward | Direction::Adjoint => {
            let text = load_image(text, 1, (backing, access));
            store_coefficients(text, 2, level, access)
        }
    };
    let places = Places { small };
    let text = match region.exchange {
        Exchange::Memory { .. } => {
            let work = RegionOptions {
                mirrored,
                memoryless: level.mapping.memoryless(),
            };
            with_main(text, (&region, places), &scheme, work)
        }
        Exchange::Lanes { .. } => march::with_main(text, (&region, places), &scheme),
    };
    Ok((text, region))
}

/// The positions of regions.
#[derive(Debug, Clone, Copy)]
struct Places {
    /// Whether the image is so small that few regions lie inside it.
    small: bool,
}

impl Places {
    /// Emits code for regions inside the image, where nothing is mirrored and everything is stored, and for all others. Small
    /// images use the second for all regions: code that runs once takes longer to fetch than to run.
    fn each(self, code: &mut Code, one: &dyn Fn(&mut Code, &str)) {
        if self.small {
            return one(code, "");
        }
        code.block("if inside", |code| one(code, "_inside"));
        code.block("else", |code| one(code, ""));
    }
}

/// Options of a region besides the scheme.
#[derive(Debug, Clone, Copy)]
struct RegionOptions {
    /// Whether steps mirror their inputs.
    mirrored: bool,
    /// Whether quads are synthetic, and stored only if they have a value that never occurs.
    memoryless: bool,
}

/// The entry point of a region that exchanges samples through workgroup memory.
fn with_main(
    mut text: Wgsl,
    (region, places): (&Region, Places),
    scheme: &Scheme,
    work: RegionOptions,
) -> Wgsl {
    let (rw, rh) = region.size();
    let (tw, th) = region.tile().unwrap_or_default();
    let [left, _, above, _] = region.margin;
    let pair = |x: i32, y: i32| format!("vec2<i32>({x}, {y})");
    text = text
        .constant("REGION", "vec2<i32>", pair(rw, rh))
        .constant("TILE", "vec2<i32>", pair(tw, th))
        .constant("MARGIN", "vec2<i32>", pair(left, above))
        .body(include_str!("../inside.wgsl"));
    if region.cells() > 0 {
        let cells = format!("array<f32, {}>", region.cells());
        text = text.variable("workgroup", "cell", cells);
    }
    if work.mirrored {
        text = text.body(include_str!("../place.wgsl"));
    }
    let mut code = Code::default();
    let columns = region.group.0;
    code.say(format_args!(
        "let here = vec2<i32>(i32(lane) % {columns}, i32(lane) / {columns})"
    ))
    .say("let origin = vec2<i32>(group.xy) * TILE - MARGIN")
    .say("let plane = group.z")
    .say("let inside = is_inside(origin)");
    for (k, (row, column)) in region.round().enumerate() {
        let (x, y) = (column * columns, row * region.group.1);
        code.say(format_args!("let r{k} = here + vec2<i32>({x}, {y})"))
            .say(format_args!("var q{k}: vec4<f32>"));
        if region.cells() > 0 {
            code.say(format_args!("let at{k} = r{k}.y * REGION.x + r{k}.x"));
        }
    }
    places.each(&mut code, &|code, suffix| {
        for k in 0..region.each() {
            let quad = match work.memoryless {
                true => format!("vec4<f32>(vec2<f32>(origin), vec2<f32>(r{k})) * 0.125"),
                false => format!("load{suffix}(origin + r{k}, plane)"),
            };
            code.say(format_args!("q{k} = {quad}"));
        }
    });
    let mut stages = Stages::new(region, work.mirrored);
    for stage in &scheme.stages {
        code.block("", |code| stages.write(code, stage));
    }
    places.each(&mut code, &|code, suffix| {
        for k in 0..region.each() {
            let kept = match work.memoryless {
                true => format!(" && q{k}.x == -1.25e30"),
                false => String::new(),
            };
            let head = format!("if all(r{k} >= MARGIN) && all(r{k} < MARGIN + TILE){kept}");
            code.block(head, |code| {
                code.say(format_args!("store{suffix}(origin + r{k}, plane, q{k})"));
            });
        }
    });
    text.entry(region.threads(), code)
}
