//! Constraints that keep a reconstruction locally close to its features (Vicini 2015, section 5.3).
//!
//! Terms: a *patch* is the 5×5 pixels around a pixel; `a` and `b` index its pixels row by row. Slots:
//!
//! - *weights*: `w(p, q)` for the twelve pixels `q` of a patch that follow `p`, one plane each; they are symmetric.
//! - *basis*: `B_p`, up to eight columns, as pairs of 16-bit fractions in `u32`: four planes for each pixel of the patch.
//! - *omega*: squared weights of the 25 rows of each patch, with what reweighting made of them; and *cross*, the upper half
//!   of `Bᵀ Ω B`.
//! - *matrix*: the assembled normal equations, symmetric, radius 4: the diagonal, forty following neighbours, and one over
//!   the diagonal, side by side for each row of pixels. So a product reads 164 bytes per pixel, where the constraints themselves are 600.
//!
//! CPU bodies process sixteen pixels at a time, whatever the vector width, so that results are bit-identical.

mod assemble;
mod basis;
mod descent;
mod jacobi;
mod omega;
mod planes;
mod point;
mod weights;

pub use assemble::Assemble;
pub use basis::Basis;
pub use descent::{Advance, Multiply, NextDirection};
pub use omega::Omega;
pub use planes::{BASIS_PLANES, CROSS_PLANES, WEIGHT_PLANES};
pub use point::{
    apart, cross_error, differences, larger, least, middle, scaled, shares, squared_difference,
};
pub use weights::Weights;

use fearless_simd::{Simd, SimdBase, f32x16};
use limpid_core::Size;
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Dispatch, PassSlots, WgslStruct, tiles};
use limpid_reference::definition::patch::{MOST, PATCH, RADIUS};
use planes::{
    LANES, Lanes, NEIGHBOURS, OFFSETS, REACH, SIDE, ZERO, cross_plane, follows, matrix_plane,
    offset, pack, unpack, weight_plane,
};
use std::ops::Range;

/// Rows of numbers that a matrix has for a row of pixels.
const MATRIX_ROWS: usize = NEIGHBOURS + 2;
/// The one of them with one over the diagonal.
const INVERSE: usize = NEIGHBOURS + 1;

/// Stride of the matrix rows. Slightly padded, so that rows with a power-of-two stride do not map to the same cache sets.
const fn matrix_step(width: usize) -> usize {
    width + 2 * LANES
}

/// Size of a slot of matrices: all data of a row of pixels is contiguous, for sequential reads.
pub fn matrix_size(size: Size) -> Size {
    Size::new(MATRIX_ROWS * matrix_step(size.width), size.height)
}

/// The range of row `k` in a row of the slot.
#[inline(always)]
fn matrix_row(width: usize, k: usize) -> Range<usize> {
    let at = k * matrix_step(width);
    at..at + width
}

/// WGSL: `matrix(k, x, y)`, the index of the matrix row `k` at a pixel.
fn with_matrix(text: Wgsl) -> Wgsl {
    text.constant("MATRIX_ROWS", "u32", MATRIX_ROWS)
        .constant("MATRIX_MARGIN", "u32", 2 * LANES)
        .constant("INVERSE", "u32", INVERSE)
        .body(include_str!("matrix.wgsl"))
}

/// Values of a row starting at `x`; 0 beyond its ends.
#[inline(always)]
fn load(row: &[f32], x: isize) -> Lanes {
    if let Ok(at) = usize::try_from(x)
        && let Some(full) = row.get(at..).and_then(|r| r.first_chunk::<LANES>())
    {
        return *full;
    }
    load_border(row, x)
}

#[cold]
#[inline(never)]
fn load_border(row: &[f32], x: isize) -> Lanes {
    let mut out = ZERO;
    for (l, o) in out.iter_mut().enumerate() {
        if let Some(v) = row.get((x + l as isize) as usize) {
            *o = *v;
        }
    }
    out
}

/// Sixteen numbers as a vector.
#[inline(always)]
fn get<S: Simd>(simd: S, lanes: &Lanes) -> f32x16<S> {
    f32x16::load_array_ref(simd, lanes)
}

/// [`load`] as a vector.
#[inline(always)]
fn load_vector<S: Simd>(simd: S, row: &[f32], x: isize) -> f32x16<S> {
    if let Ok(at) = usize::try_from(x)
        && let Some(full) = row.get(at..).and_then(|r| r.first_chunk::<LANES>())
    {
        return get(simd, full);
    }
    get(simd, &load_border(row, x))
}

/// Writes as many values as the row has room for.
#[inline(always)]
fn store(row: &mut [f32], x: usize, values: &Lanes) {
    let room = (row.len() - x).min(LANES);
    row[x..x + room].copy_from_slice(&values[..room]);
}

params! {
    /// Size of the image, and parameters of the kernel.
    struct Params { width: u32, height: u32, pixels: u32, planes: u32, k0: f32, k1: f32 }
}

/// Side of a workgroup.
const GROUP: u32 = 8;

/// The parameters of a shader, and WGSL that declares them and its slots, named `read0 …` and `write0 …`. Values that differ
/// between passes are `p.k0` and `p.k1`, so that the passes share a text, and with it a pipeline.
fn head(pass: &PassSlots<'_>, size: Size, [k0, k1]: [f32; 2]) -> (Params, Wgsl) {
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        pixels: size.pixels() as u32,
        planes: pass.writes[0].planes as u32,
        k0,
        k1,
    };
    let text = Wgsl::default().body(Params::WGSL).body(&pass.wgsl());
    (params, text)
}

/// A shader with one thread per pixel, which calls `pixel(x, y, i)` of the text with the pixel's index `i`.
fn per_pixel(pass: &PassSlots<'_>, numbers: [f32; 2], text: Wgsl) -> Dispatch {
    // The slots that are read have the size of the image; a matrix has not.
    let size = pass.reads[0].size;
    let (params, head) = head(pass, size, numbers);
    let source = head
        .constant("GROUP", "u32", GROUP)
        .constant("PATCH", "u32", PATCH)
        .constant("RADIUS", "i32", RADIUS)
        .constant("SIDE", "u32", SIDE)
        .constant("MOST", "u32", MOST)
        .body(&text.text())
        .body(include_str!("pixels.wgsl"));
    Dispatch::compute(source.text(), &params, tiles(size, GROUP, GROUP))
}

/// WGSL: `weight(x, y, a)`, the weight of the pixel `a` of a patch, from this slot of weights; 0 outside.
fn with_weights(text: Wgsl, slot: &str) -> Wgsl {
    text.function("stored_weight(at: u32) -> f32", format_args!("{slot}[at]"))
        .body(include_str!("weight.wgsl"))
}
