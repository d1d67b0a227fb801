//! Refinement for inverses whose filters do not reconstruct exactly.

use crate::kernel::stencil::{Stencil, stencil};

/// The residual of the coefficients: `a - b`.
pub(crate) fn remainder() -> Stencil {
    stencil("remainder", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a - b);
    })
}

/// The corrected estimate: `a + b`.
pub(crate) fn mended() -> Stencil {
    stencil("mended", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a + b);
    })
}
