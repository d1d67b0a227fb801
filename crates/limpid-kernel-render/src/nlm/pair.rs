//! Rows of pixel distances, for a pair of opposite offsets: Eq. 3.7, 3.9 and 3.10.

use super::{EPSILON, STEP, STEP_FLOOR};
use std::ops::Range;

/// The partner that a pixel is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Partner {
    /// `p + o`.
    Plus,
    /// `p - o`.
    Minus,
    /// The mean of both.
    Mean,
}

/// The order in which the three comparisons are kept.
pub(super) const ALL: [Partner; 3] = [Partner::Plus, Partner::Minus, Partner::Mean];

/// An offset in rows (down) and columns (either direction), in an image of a size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offset {
    pub(super) dx: i64,
    pub(super) dy: i64,
    pub(super) width: usize,
    pub(super) height: usize,
}

impl Offset {
    /// Columns of the pixels whose partner is inside.
    pub(super) fn columns(&self, to: Partner) -> Range<usize> {
        reach(self.dx, self.width, to)
    }

    /// Rows of the pixels whose partner is inside.
    pub(super) fn rows(&self, to: Partner) -> Range<usize> {
        reach(self.dy, self.height, to)
    }
}

fn reach(d: i64, n: usize, to: Partner) -> Range<usize> {
    let n = n as i64;
    let (low, high) = match to {
        Partner::Plus => ((-d).max(0), n - d.max(0)),
        Partner::Minus => (d.max(0), n - (-d).max(0)),
        Partner::Mean => (d.abs(), n - d.abs()),
    };
    low as usize..high.max(low) as usize
}

/// The channels of the one or two partners of a pixel, and their number.
#[inline(always)]
pub(super) fn partners<'a>(
    to: Partner,
    o: Offset,
    (x, y): (usize, usize),
    at: impl Fn((usize, usize)) -> Channel<'a>,
) -> ([Channel<'a>; 2], usize) {
    let plus = || at(((x as i64 + o.dx) as usize, (y as i64 + o.dy) as usize));
    let minus = || at(((x as i64 - o.dx) as usize, (y as i64 - o.dy) as usize));
    match to {
        Partner::Plus => ([plus(); 2], 1),
        Partner::Minus => ([minus(); 2], 1),
        Partner::Mean => ([plus(), minus()], 2),
    }
}

/// Adds a channel's distance to `out`: values, variances and spreads (`V` of Eq. 3.10) of the pixel (`.0`) and of one or two
/// partners, all of equal length. `over` is `k²`; `apart` is the decorrelation of the noise.
#[inline(always)]
pub(super) fn add_distance(
    out: &mut [f32],
    p: Channel<'_>,
    q: &[Channel<'_>],
    (over, apart): (f32, f32),
    tau: f32,
) {
    let n = out.len();
    let p = p.cut(n);
    match q {
        [q] => {
            let q = q.cut(n);
            for x in 0..n {
                let d = p.value[x] - q.value[x];
                let less = p.variance[x] + p.variance[x].min(q.variance[x]);
                let spread = p.spread[x].max(tau) + q.spread[x].max(tau);
                out[x] += (d * d - apart * less) / (EPSILON + over * spread);
            }
        }
        [a, b] => {
            let (a, b) = (a.cut(n), b.cut(n));
            for x in 0..n {
                let d = p.value[x] - 0.5 * (a.value[x] + b.value[x]);
                let least = p.variance[x].min(a.variance[x]) + p.variance[x].min(b.variance[x]);
                let far = a.spread[x].max(tau) + b.spread[x].max(tau);
                let spread = p.spread[x].max(tau) + 0.25 * far;
                let less = apart * (p.variance[x] + 0.25 * least);
                out[x] += (d * d - less) / (EPSILON + over * spread);
            }
        }
        _ => {}
    }
}

/// Adds the increase of a channel's distance when the pixel is perturbed by its step.
#[inline(always)]
pub(super) fn add_change(out: &mut [f32], p: Channel<'_>, q: &[Channel<'_>], over: f32) {
    let n = out.len();
    let p = p.cut(n);
    let change = |u: f32, v: f32, spread: f32| {
        let step = step(u);
        step * (2.0 * (u - v) + step) / (EPSILON + over * spread)
    };
    match q {
        [q] => {
            let q = q.cut(n);
            for x in 0..n {
                out[x] += change(p.value[x], q.value[x], p.spread[x] + q.spread[x]);
            }
        }
        [a, b] => {
            let (a, b) = (a.cut(n), b.cut(n));
            for x in 0..n {
                let spread = p.spread[x] + 0.25 * (a.spread[x] + b.spread[x]);
                out[x] += change(p.value[x], 0.5 * (a.value[x] + b.value[x]), spread);
            }
        }
        _ => {}
    }
}

/// The perturbation of a value for the finite difference.
#[inline(always)]
pub(super) fn step(value: f32) -> f32 {
    STEP * value.abs().max(STEP_FLOOR)
}

/// A segment of a row of one channel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Channel<'a> {
    pub(super) value: &'a [f32],
    pub(super) variance: &'a [f32],
    pub(super) spread: &'a [f32],
}

impl Channel<'_> {
    #[inline(always)]
    fn cut(&self, n: usize) -> Self {
        Self {
            value: &self.value[..n],
            variance: &self.variance[..n],
            spread: &self.spread[..n],
        }
    }
}
