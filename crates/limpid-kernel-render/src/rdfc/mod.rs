//! The small operations around the filter of [`super::nlm`]: joins, variances, contrast, selection and blending.

mod select;
mod variance;

pub use select::{blend, select};
pub use variance::{floor, half_difference, image_variance, scale, square};

use limpid_plan::stencil::{Stencil, stencil};

/// `max(Var, |∇f|²)`: the tolerated difference of features (Vicini 2015, Eq. 3.10). Reads values and their variance.
pub fn contrast() -> Stencil {
    stencil("contrast", |k| {
        let [values, variance] = k.reads();
        // Differences over two pixels, over one at the border.
        let (across, down) = (
            k.inside(-1, 0) & k.inside(1, 0),
            k.inside(0, -1) & k.inside(0, 1),
        );
        let dx = (values.at(1, 0) - values.at(-1, 0)) * across.pick(0.5, 1.0);
        let dy = (values.at(0, 1) - values.at(0, -1)) * down.pick(0.5, 1.0);
        k.write(variance.here().max(dx * dx + dy * dy));
    })
}

/// Concatenates planes of several slots in one slot. For each slot read: the first plane taken, and the number of planes.
pub fn join(takes: &[(usize, usize)]) -> Stencil {
    stencil("join", |k| {
        let reads: Vec<_> = takes.iter().map(|_| k.read()).collect();
        let planes = reads.iter().zip(takes).flat_map(|(read, (first, count))| {
            (*first..first + count).map(|plane| read.plane(plane).here())
        });
        k.write_planes(planes);
    })
}

/// Zeros, with as many planes as the slot read.
pub fn zeros() -> Stencil {
    stencil("zeros", |k| {
        // Multiplying by zero would give NaN where the slot is infinite.
        let _ = k.read();
        k.write(0.0);
    })
}
