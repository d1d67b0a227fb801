//! Refinement for inverses whose filters do not reconstruct exactly.

use limpid_plan::stencil::{Stencil, stencil};

/// The residual of the coefficients: `a - b`.
pub fn remainder() -> Stencil {
    stencil("remainder", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a - b);
    })
}

/// The corrected estimate: `a + b`.
pub fn mended() -> Stencil {
    stencil("mended", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a + b);
    })
}
