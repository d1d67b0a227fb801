//! The small operations around the constraints: scales, differences, errors, selection.

use limpid_plan::stencil::{Stencil, Value, stencil};
use limpid_reference::definition::patch::mix::{
    CAUTION, LEAST_APART, LEAST_SHARE, OUTLIER, PIXELS,
};

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

/// The mean of two.
pub fn middle() -> Stencil {
    stencil("mean-of-fits", |k| {
        let [a, b] = k.reads();
        k.write(0.5 * (a.here() + b.here()));
    })
}

/// The squared difference of two.
pub fn squared_difference() -> Stencil {
    stencil("squared-difference", |k| {
        let [a, b] = k.reads();
        k.write((a.here() - b.here()).squared());
    })
}

/// The squared distance of two candidates over all channels, and the same times the noise of each. Reads both and the noise.
pub fn apart(channels: usize) -> Stencil {
    stencil("apart", |k| {
        let reads = k.reads::<3>();
        let square = |c: usize| {
            let [a, b, _] = reads.map(|read| read.plane(c).here());
            (a - b).squared()
        };
        let noisy = |c: usize| square(c) * reads[2].plane(c).here();
        let plain = (0..channels).map(square).reduce(|sum, v| sum + v);
        let noisy = (0..channels).map(noisy).reduce(|sum, v| sum + v);
        k.write_planes(plain.into_iter().chain(noisy));
    })
}

/// The share of a candidate whose error is this much lower, by its distance from the first.
fn share<'g>(better: Value<'g>, [apart, noisy]: [Value<'g>; 2]) -> Value<'g> {
    let apart = apart + LEAST_APART;
    let best = ((apart + better) / (2.0 * apart)).max(0.0).min(1.0);
    let variance = CAUTION / PIXELS * (noisy / apart) / (4.0 * apart);
    (best - variance / best.max(LEAST_SHARE)).max(0.0)
}

/// The shares of the first candidate, of the second and of the plain fit. Reads their errors (three planes), [`apart`] of the
/// second and of the plain fit, the first candidate and the plain fit.
pub fn shares(channels: usize) -> Stencil {
    stencil("shares", |k| {
        let [errors, second, plain, made, fit] = k.reads();
        let error = |plane: usize| errors.plane(plane).here();
        let bold = share(error(0) - error(1), [0, 1].map(|c| second.plane(c).here()));
        let distance = [0, 1].map(|c| plain.plane(c).here());
        let mut kept = share(error(0) - error(2), distance);
        let gap = |c: usize| (fit.plane(c).here() - made.plane(c).here()).abs();
        let gap = (0..channels).map(gap).reduce(|sum, v| sum + v);
        if let Some(gap) = gap {
            let usual = distance[0].sqrt() + LEAST_APART;
            kept = kept * (OUTLIER - gap / usual).max(0.0).min(1.0);
        }
        let sum = (bold + kept).max(1.0);
        k.write_planes([1.0 - (bold + kept) / sum, bold / sum, kept / sum]);
    })
}

/// Three maps of 0 and 1 that mark the smallest of three values. Reads them as three planes.
pub fn least() -> Stencil {
    stencil("least", |k| {
        let src = k.read();
        let [x, y, z] = [0, 1, 2].map(|plane| src.plane(plane).here());
        let bolder = y.lt(x);
        let last = z.lt(bolder.pick(y, x));
        let second = !last & bolder;
        k.write_planes([!last & !second, second, last].map(|map| map.number()));
    })
}
