//! Row sums in a fixed order, which do not depend on threads or bands.
//!
//! On a GPU each row is a workgroup, and nothing is read back to the host.

use super::wgsl::Wgsl;

/// Number of partial sums, so that they fit vectors.
pub(crate) const SIDE_BY_SIDE: usize = 16;

/// Threads of a workgroup that computes sums.
const LANES: u32 = 256;

/// Maximum number of workgroups along x.
const ROWS: u32 = 32_768;

/// WGSL: `gathered` for sums of this type.
pub(super) fn gathered(text: Wgsl, kind: &str) -> Wgsl {
    text.alias("Sum", kind)
        .constant("LANES", "u32", LANES)
        .body(include_str!("gathered.wgsl"))
}

/// WGSL with one workgroup per row, and the grid of workgroups: `each(x, y)` of the text is called for every pixel and returns
/// its term of the row's sum, which has this `kind`; `last(y, sum)` is called once per row.
pub(super) fn per_row(text: Wgsl, kind: &str, height: usize) -> (Wgsl, [u32; 3]) {
    let text = gathered(text, kind)
        .constant("ROWS", "u32", ROWS)
        .body(include_str!("per_row.wgsl"));
    let rows = height as u32;
    (text, [rows.min(ROWS), rows.div_ceil(ROWS), 1])
}

/// Adds the products of two rows to the partial sums.
#[inline(always)]
pub(super) fn add_products(sums: &mut [f32; SIDE_BY_SIDE], a: &[f32], b: &[f32]) {
    let (a, a_rest) = a.as_chunks::<SIDE_BY_SIDE>();
    let (b, b_rest) = b.as_chunks::<SIDE_BY_SIDE>();
    for (a, b) in a.iter().zip(b) {
        for i in 0..SIDE_BY_SIDE {
            sums[i] += a[i] * b[i];
        }
    }
    for (i, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[i] += a * b;
    }
}
