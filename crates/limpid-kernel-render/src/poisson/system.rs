//! The matrix and the right-hand side (Vicini 2015, Eq. 5.1 to 5.3, and the reweighting of `SOLVEL1`).

use limpid_plan::stencil::{Stencil, Value, stencil};

/// `scale / (|e| + reg)`, or `scale` without `reg`.
fn weight<'g>(
    scale: Value<'g>,
    errors: impl Iterator<Item = Value<'g>>,
    reg: Option<Value<'g>>,
) -> Value<'g> {
    let sum = errors
        .map(Value::squared)
        .reduce(|sum, square| sum + square);
    match (sum, reg) {
        (Some(sum), Some(reg)) => scale / (sum.sqrt() + reg),
        _ => scale,
    }
}

/// The grid of the finest level, for images of this many channels. Reads the estimate, the base image and its differences; with
/// unit weights only their size matters.
///
/// `alpha` is the weight of the base image; with `reg` the squared weights are `1 / (|e| + reg)`, for a fit of least absolute
/// errors.
pub fn weigh(channels: usize, alpha: f32, reg: Option<f32>) -> Stencil {
    stencil("weigh", |k| {
        let [x, base, dx, dy] = k.reads();
        let (alpha, reg) = (k.param(alpha), reg.map(|reg| k.param(reg)));
        let one = k.constant(1.0);
        // The bond between the pixel at an offset and the next one, to the right or below.
        let bond = |axis: usize, u: i32, v: i32| {
            let ([du, dv], step) = [([1, 0], dx), ([0, 1], dy)][axis];
            let errors = (0..channels).map(|c| {
                let x = x.plane(c);
                x.at(u + du, v + dv) - x.at(u, v) - step.plane(c).at(u, v)
            });
            (k.inside(u, v) & k.inside(u + du, v + dv)).pick(weight(one, errors, reg), 0.0)
        };
        let errors = (0..channels).map(|c| alpha * (x.plane(c).here() - base.plane(c).here()));
        let bound = weight(alpha * alpha, errors, reg);
        let (right, down) = (bond(0, 0, 0), bond(1, 0, 0));
        let (left, up) = (bond(0, -1, 0), bond(1, 0, -1));
        let inverse = 1.0 / (bound + right + down + left + up);
        k.write_planes([bound, right, down, inverse]);
    })
}

/// `Aᵀ W² b`. Reads the grid, the base image and its differences.
pub fn right_side() -> Stencil {
    stencil("right-side", |k| {
        let [grid, base, dx, dy] = k.reads();
        let (right, down) = (grid.plane(1), grid.plane(2));
        // The last column and row of differences are undefined.
        let mut sum = grid.plane(0).here() * base.here();
        sum = sum - k.inside(1, 0).pick(right.here() * dx.here(), 0.0);
        sum = sum + k.inside(-1, 0).pick(right.at(-1, 0) * dx.at(-1, 0), 0.0);
        sum = sum - k.inside(0, 1).pick(down.here() * dy.here(), 0.0);
        sum = sum + k.inside(0, -1).pick(down.at(0, -1) * dy.at(0, -1), 0.0);
        k.write(sum);
    })
}

/// `b - A x`. Reads the grid, `x` and `b`.
pub fn residual() -> Stencil {
    stencil("residual", |k| {
        let [grid, x, b] = k.reads();
        let (right, down, here) = (grid.plane(1), grid.plane(2), x.here());
        // At the border the neighbour is the pixel itself, and adds nothing.
        let product = grid.plane(0).here() * here
            + right.here() * (here - x.at(1, 0))
            + right.at(-1, 0) * (here - x.at(-1, 0))
            + down.here() * (here - x.at(0, 1))
            + down.at(0, -1) * (here - x.at(0, -1));
        k.write(b.here() - product);
    })
}

/// `p = z + β p`, in place. Reads `z` and `β`; at first, where there is no direction yet, only `z`.
pub fn direction(first: bool) -> Stencil {
    stencil("direction", |k| {
        let z = k.read().here();
        if first {
            k.write(z);
        } else {
            let beta = k.read().first();
            k.update(|p| z + beta * p);
        }
    })
}
