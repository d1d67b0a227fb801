//! Screened Poisson systems: fits of a base image and its noisy differences, solved by conjugate gradients with a multigrid
//! preconditioner, or by cosine transforms if all weights are one.
//!
//! A *grid* is a slot of four planes that holds the symmetric matrix `A` of a level: the bond of a pixel to the base image, to
//! its right neighbour and to the one below (0 if there is none), and one over the diagonal of `A`. Coarser levels merge 2×2
//! pixels and sum their bonds, so that any size works. Prolongation is constant within such a square and restriction is its
//! transpose: the preconditioner is symmetric, as conjugate gradients need.

mod cosine;
mod cycle;
mod descent;
mod system;

pub use cosine::Cosine;
pub use cycle::{Coarsen, Down, Up, coarse};
pub(super) use descent::{ADVANCED, SIDE_BY_SIDE, add_products, advance_row, per_row_text};
pub use descent::{Advance, Apply, Dot, Scalar};
pub use system::{direction, residual, right_side, weigh};

use limpid_core::Size;
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Dispatch, PassSlots, View, WgslStruct, tiles};

/// Damping factor of the Jacobi step.
const OMEGA: f32 = 0.8;

/// Factor of bonds on the next coarser level. 1 would be the matrix for piecewise constant squares, which is too stiff for
/// smooth errors, by a factor of 2 at each level; 0.5 is right for those, but too soft beside strong and weak bonds. At this
/// value both need about the same number of steps (10 to 18 to a residual of 1e-6, where 1 needs 12 to 28).
const SHARE: f32 = 0.75;

params! {
    /// Sizes of a level and of the next coarser one.
    struct Params {
        width: u32,
        height: u32,
        pixels: u32,
        planes: u32,
        coarse_width: u32,
        coarse_height: u32,
        coarse_pixels: u32,
    }
}

/// Side of a workgroup.
const SIDE: u32 = 16;

/// A shader with one thread per pixel of the first written slot, which calls `pixel(x, y)` of the text. `level` is the size of
/// the finer level that is read; slots are named `read0 …` and `write0 …`.
fn shader(pass: &PassSlots<'_>, level: Size, text: Wgsl) -> Dispatch {
    let groups = tiles(pass.writes[0].size, SIDE, SIDE);
    let text = text
        .constant("SIDE", "u32", SIDE)
        .body(include_str!("pixels.wgsl"));
    dispatch(pass, level, text, groups)
}

/// A shader with its parameters and slots.
fn dispatch(pass: &PassSlots<'_>, level: Size, text: Wgsl, groups: [u32; 3]) -> Dispatch {
    let next = coarse(level);
    let params = Params {
        width: level.width as u32,
        height: level.height as u32,
        pixels: level.pixels() as u32,
        planes: pass.writes[0].planes as u32,
        coarse_width: next.width as u32,
        coarse_height: next.height as u32,
        coarse_pixels: next.pixels() as u32,
    };
    let source = text.body(Params::WGSL).body(&pass.wgsl()).text();
    Dispatch::compute(source, &params, groups)
}

/// Constants of the shaders.
fn constants() -> Wgsl {
    Wgsl::default()
        .constant("OMEGA", "f32", OMEGA)
        .constant("SHARE", "f32", SHARE)
}

/// A row of the product of the matrix with an image, given the rows above and below if they exist.
#[inline(always)]
fn product(
    grid: &View<'_>,
    y: usize,
    above: Option<&[f32]>,
    here: &[f32],
    below: Option<&[f32]>,
    out: &mut [f32],
) {
    let n = out.len();
    let (bound, right) = (&grid.row(0, y)[..n], &grid.row(1, y)[..n]);
    let here = &here[..n];
    for x in 0..n {
        out[x] = bound[x] * here[x];
    }
    for x in 0..n - 1 {
        out[x] += right[x] * (here[x] - here[x + 1]);
    }
    for x in 1..n {
        out[x] += right[x - 1] * (here[x] - here[x - 1]);
    }
    if let Some(below) = below {
        let (down, below) = (&grid.row(2, y)[..n], &below[..n]);
        for x in 0..n {
            out[x] += down[x] * (here[x] - below[x]);
        }
    }
    if let Some(above) = above {
        let (down, above) = (&grid.row(2, y - 1)[..n], &above[..n]);
        for x in 0..n {
            out[x] += down[x] * (here[x] - above[x]);
        }
    }
}
