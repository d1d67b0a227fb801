//! The small operations around the constraints: scales, differences, errors, selection.

use limpid_plan::stencil::{Stencil, stencil};
use limpid_reference::definition::patch::CLEARLY;

/// The larger of two.
pub fn larger() -> Stencil {
    stencil("larger", |k| {
        let [a, b] = k.reads();
        k.write(a.here().max(b.here()));
    })
}

/// Scales each plane by its factor.
pub fn scaled(factors: &[f32]) -> Stencil {
    stencil("scaled", |k| {
        let src = k.read();
        let planes = factors.iter().enumerate();
        k.write_planes(planes.map(|(c, f)| src.plane(c).here() * k.param(*f)));
    })
}

/// Differences to the right and downwards; 0 in the last column and row.
pub fn differences() -> Stencil {
    stencil("differences", |k| {
        let src = k.read();
        k.write(src.at(1, 0) - src.here());
        k.write(src.at(0, 1) - src.here());
    })
}

/// The squared distance of the halves of a candidate from unbiased fits of the other halves, over all channels, minus the
/// additional noise of a half. Reads the candidate, its first half and both fits.
pub fn cross_error(channels: usize) -> Stencil {
    stencil("cross-error", |k| {
        let reads = k.reads::<4>();
        let errors = (0..channels).map(|c| {
            let [made, half, a, b] = reads.map(|read| read.plane(c).here());
            let (first, second) = (half - b, 2.0 * made - half - a);
            0.5 * (first.squared() + second.squared()) - (made - half).squared()
        });
        k.write_planes(errors.reduce(|sum, e| sum + e));
    })
}

/// Three maps of 0 and 1 that mark the smallest of three values. Reads them as three planes.
pub fn least() -> Stencil {
    stencil("least", |k| {
        let src = k.read();
        let [x, y, z] = [0, 1, 2].map(|plane| src.plane(plane).here());
        let bolder = y.lt(CLEARLY * x);
        let last = z.lt(CLEARLY * bolder.pick(y, x));
        let second = !last & bolder;
        k.write_planes([!last & !second, second, last].map(|map| map.number()));
    })
}
