//! The front end of methods for renders: surfaces and classes, limits for outliers, one buffer as two.
//!
//! The definition is `definition::front`. All kernels here look at a pixel or at a few around it; their shaders have
//! one thread per pixel.

mod limit;
mod point;
mod surface;

pub(crate) use limit::Limit;
pub(crate) use point::{
    at_least, between, brightness, checkerboard, clamp, divide, finish, follow, follow_each,
    larger, light, log_variance, logarithm, lower, middle, minus, off, pick, roughness,
    scale_others, square_difference, square_plus, squared, unrest, variance,
};
pub(crate) use surface::{Surface, class, divisor};

use super::{Dispatch, Site, WgslStruct, tiles};
use crate::params;

params! {
    /// Size of the image, planes of the first slot written, and numbers of the kernel.
    struct Params { width: u32, height: u32, pixels: u32, planes: u32, a: f32, b: f32, c: f32, d: f32, e: f32 }
}

/// Side of a workgroup.
const SIDE: u32 = 16;

/// A shader with one thread per pixel: `body` sees `x`, `y` and the pixel's place `i`, the slots `read0 …`, `write0 …`, and the
/// numbers as `p.a … p.e`.
pub(in crate::kernel) fn per_pixel(
    site: &Site<'_>,
    [a, b, c, d, e]: [f32; 5],
    functions: &str,
    body: &str,
) -> Dispatch {
    per_tile(site, [a, b, c, d, e], functions, "", body)
}

/// The same, with something that all threads of a workgroup do before: it sees `group` and `lane`, and the side `SIDE`.
fn per_tile(
    site: &Site<'_>,
    [a, b, c, d, e]: [f32; 5],
    functions: &str,
    before: &str,
    body: &str,
) -> Dispatch {
    let slot = site.writes[0];
    let params = Params {
        width: slot.size.width as u32,
        height: slot.size.height as u32,
        pixels: slot.size.pixels() as u32,
        planes: slot.planes as u32,
        a,
        b,
        c,
        d,
        e,
    };
    let source = format!(
        "{}{}const SIDE: u32 = {SIDE};
{functions}@compute @workgroup_size({})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
{before}    let x = group.x * SIDE + lane % SIDE;
    let y = group.y * SIDE + lane / SIDE;
    if x >= p.width || y >= p.height {{ return; }}
    let i = y * p.width + x;
{body}}}
",
        Params::WGSL,
        site.slots(),
        SIDE * SIDE
    );
    Dispatch::own(source, &params, tiles(slot.size, SIDE, SIDE))
}
