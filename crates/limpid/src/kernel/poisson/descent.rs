//! The steps of preconditioned conjugate gradients (Vicini 2015, `CGSOLVE`). Sums over the image are computed per row, then
//! over the rows.

use super::dispatch as shader_text;
use crate::Result;
use crate::kernel::row_sums::gathered;
use crate::kernel::stencil::{Stencil, stencil};
use crate::kernel::wgsl::{Code, Wgsl};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};

/// For each row, the sum of `a · b` over its pixels and channels.
pub(crate) fn dot() -> Stencil {
    stencil("dot", |k| {
        let [a, b] = k.reads();
        k.sum(a.here() * b.here());
    })
}

/// `x += α p` and `r -= α A p` in place, and per row `r · r`. Reads `α`, `p` and `A p`. With a diagonal preconditioner `D⁻¹`, which is
/// read last, also `r · D⁻¹ r`.
pub(crate) fn advance(diagonal: bool) -> Stencil {
    stencil("advance", |k| {
        let alpha = k.read().first();
        let [p, ap] = k.reads();
        k.update(|x| x + alpha * p.here());
        let r = k.update(|r| r - alpha * ap.here());
        k.sum(r.squared());
        if diagonal {
            k.sum(r.squared() * k.read().plane(0).here());
        }
    })
}

/// `p = z + β p`, in place. Reads `z` and `β`; in the first step, without a previous direction, only `z`. With a diagonal
/// preconditioner, which is read last, `z` is `D⁻¹` times the first slot.
pub(crate) fn direction(first: bool, diagonal: bool) -> Stencil {
    stencil("direction", |k| {
        let read = k.read().here();
        let beta = (!first).then(|| k.read().first());
        let z = match diagonal {
            true => read * k.read().plane(0).here(),
            false => read,
        };
        match beta {
            None => k.write(z),
            Some(beta) => drop(k.update(|p| z + beta * p)),
        }
    })
}

/// A scalar computed from the sums of the rows. It is 0 instead of a division by zero: the solution has been reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    /// Writes 0 and the sum: `β` and `r·z` before the first step.
    Start,
    /// `r·z` over the sum: `α`. Also reads `r·z`.
    Alpha,
    /// The sum over the previous `r·z`: `β`; the sum replaces it.
    Beta,
    /// The sum.
    Norm,
    /// The sum over another value, which is also read.
    Share,
}

impl Scalar {
    fn made(self, sum: f32, other: f32) -> f32 {
        let (over, under) = match self {
            Self::Start => (0.0, 1.0),
            Self::Alpha => (other, sum),
            Self::Beta | Self::Share => (sum, other),
            Self::Norm => (sum, 1.0),
        };
        if under > 0.0 { over / under } else { 0.0 }
    }
}

impl Kernel for Scalar {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn contract(&self) -> Contract {
        match self {
            Self::Start => Contract::gather(1, 2, None),
            Self::Beta => Contract::gather(1, 2, None).updating(),
            Self::Alpha | Self::Share => Contract::gather(2, 1, None),
            Self::Norm => Contract::gather(1, 1, None),
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let rows = 0..job.reads[0].size().height;
        let sum = rows
            .map(|y| f64::from(job.reads[0].row(0, y)[0]))
            .sum::<f64>() as f32;
        let other = match self {
            Self::Alpha | Self::Share => job.reads[1].row(0, 0)[0],
            Self::Beta => job.writes[1].row(0, 0)[0],
            Self::Start | Self::Norm => 0.0,
        };
        job.writes[0].row(0, 0)[0] = self.made(sum, other);
        if let Some(last) = job.writes.get_mut(1) {
            last.row(0, 0)[0] = sum;
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (over, under) = match self {
            Self::Start => ("0.0", "1.0"),
            Self::Alpha => ("read1[0]", "sum"),
            Self::Beta => ("sum", "write1[0]"),
            Self::Norm => ("sum", "1.0"),
            Self::Share => ("sum", "read1[0]"),
        };
        let mut keep = Code::default();
        if matches!(self, Self::Start | Self::Beta) {
            keep.say("write1[0] = sum");
        }
        let text = gathered(Wgsl::default(), "f32")
            .function("over(sum: f32) -> f32", over)
            .function("under(sum: f32) -> f32", under)
            .statements("keep(sum: f32)", keep)
            .body(include_str!("scalar.wgsl"));
        Ok(shader_text(site, site.reads[0].size, text, [1, 1, 1]))
    }
}
