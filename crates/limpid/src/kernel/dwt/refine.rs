//! What makes an inverse exact whose filters are not.

use crate::kernel::stencil::{Stencil, stencil};

/// What is left of coefficients beside those of an estimate: `a - b`.
pub(crate) fn remainder() -> Stencil {
    stencil("remainder", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a - b);
    })
}

/// An estimate and what was missing of it: `a + b`.
pub(crate) fn mended() -> Stencil {
    stencil("mended", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a + b);
    })
}
