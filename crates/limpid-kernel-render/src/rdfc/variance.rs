//! Variances: from two buffers, scaled from samples, with a floor, and estimated from the image alone.

use limpid_plan::stencil::{Stencil, Value, stencil};
use limpid_reference::definition::rdfc::LEAST_OF_FOUR;

/// `(a - b) / 2`.
pub fn half_difference() -> Stencil {
    stencil("half-difference", |k| {
        let [a, b] = k.reads();
        k.write(0.5 * (a.here() - b.here()));
    })
}

/// The squares of a slot's planes, starting at this one.
pub fn square(first: usize) -> Stencil {
    stencil("square", |k| {
        k.write(k.read().planes_from(first).here().squared());
    })
}

/// `a · b / c`, 0 where `c` is: `SCALESAMPLEVAR`.
pub fn scale() -> Stencil {
    stencil("scale", |k| {
        let [a, b, c] = k.reads().map(|read| read.here());
        k.write(c.gt(0.0).pick(a * (b / c), 0.0));
    })
}

/// Three values in order.
fn sorted([a, b, c]: [Value<'_>; 3]) -> [Value<'_>; 3] {
    let (low, high) = (a.min(b), a.max(b));
    [low.min(c), low.max(high.min(c)), high.max(c)]
}

/// Each value, or the fourth smallest of the 3×3 around it if that is larger (`definition::noise::floor`).
///
/// Columns are sorted, then rows: `a00 a01 a02`, `a10 a11 a12`, `a20 a21 a22` increase to the right and downwards. `a00` is the
/// smallest, `a12`, `a21` and `a22` have five or more values below them, and the smaller of `a01` and `a10` is below all
/// others. So the result is the second smallest of the remaining `max(a01, a10)`, `a11`, `a02` and `a20`, of which the first is
/// not above the second.
pub fn floor() -> Stencil {
    stencil("floor", |k| {
        let src = k.read();
        let [left, here, right] = [-1, 0, 1].map(|dx| sorted([-1, 0, 1].map(|dy| src.at(dx, dy))));
        let row = |i: usize| sorted([left[i], here[i], right[i]]);
        let ([_, a01, a02], [a10, a11, _], [a20, ..]) = (row(0), row(1), row(2));
        let second = a01.max(a10).max(a02.min(a20));
        k.write(src.here().max(second.min(a11).min(a02.max(a20))));
    })
}

/// The smallest of the squared second differences in four directions, relative to its expectation for white noise of variance
/// 1; to be averaged (`definition::rdfc::image_variance`).
pub fn image_variance() -> Stencil {
    stencil("image-variance", |k| {
        let src = k.read();
        let across = k.inside(-1, 0) & k.inside(1, 0);
        let down = k.inside(0, -1) & k.inside(0, 1);
        let look =
            |dx: i32, dy: i32| (src.at(dx, dy) + src.at(-dx, -dy) - 2.0 * src.here()).squared();
        let least = across
            .pick(look(1, 0), f32::MAX)
            .min(down.pick(look(0, 1), f32::MAX));
        let all = least.min(look(1, 1)).min(look(1, -1)) * (1.0 / (6.0 * LEAST_OF_FOUR));
        // A line has one direction, a single pixel none.
        let one = (across | down).pick(least * (1.0 / 6.0), 0.0);
        k.write((across & down).pick(all, one));
    })
}
