//! Conjugate gradients as part of a plan, for any symmetric system (Vicini 2015, `CGSOLVE`).

use crate::Size;
use limpid_kernel_render::poisson::{Dot, Scalar};
use limpid_plan::{Plan, Role, Slot, SlotId, Until};

/// The slots of a solve, apart from the estimate and those of the system.
#[derive(Debug, Clone, Copy)]
pub(super) struct Descent {
    /// The right-hand side.
    pub(super) b: SlotId,
    /// The residual: `b - A x`.
    pub(super) r: SlotId,
    /// The direction.
    pub(super) p: SlotId,
    /// `A p`.
    pub(super) ap: SlotId,
    /// Per row: `p · A p`, `r · r` and `r · M r`.
    pub(super) pap: SlotId,
    pub(super) rr: SlotId,
    pub(super) rz: SlotId,
    /// Single numbers: the step length, and the share of the last direction.
    pub(super) alpha: SlotId,
    pub(super) beta: SlotId,
    last: SlotId,
    bb: SlotId,
    left: SlotId,
}

/// When a solve ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct StopRule {
    /// Relative residual to reach.
    pub(super) tolerance: f32,
    /// Maximum number of steps.
    pub(super) most: usize,
    /// Steps between two checks of the residual.
    pub(super) every: usize,
}

/// The operations of a system in a solve; `M` is its preconditioner.
pub(super) trait System {
    /// `r = b - A x`, `p = M r` and per row `r · M r`.
    fn start(&self, plan: &mut Plan, slots: &Descent);

    /// `A p` and per row `p · A p`.
    fn product(&self, plan: &mut Plan, slots: &Descent);

    /// `x += α p`, `r -= α A p` and per row `r · r`.
    fn advance(&self, plan: &mut Plan, slots: &Descent);

    /// `M r` and per row `r · M r`, if `advance` did not compute them.
    fn precondition(&self, _plan: &mut Plan, _slots: &Descent) {}

    /// `p = M r + β p`.
    fn direction(&self, plan: &mut Plan, slots: &Descent);
}

impl Descent {
    /// Slots for images of this many channels.
    pub(super) fn new(plan: &mut Plan, channels: usize) -> Self {
        let finest = plan.size();
        let mut slot = |name: &str, size: Size, planes: usize| {
            plan.slot(Slot::new(name, Role::Transient, size, planes))
        };
        let (one, rows) = (Size::new(1, 1), Size::new(1, finest.height));
        Self {
            b: slot("right side", finest, channels),
            r: slot("residual", finest, channels),
            p: slot("direction", finest, channels),
            ap: slot("product", finest, channels),
            pap: slot("p Ap", rows, 1),
            rr: slot("r r", rows, 1),
            rz: slot("r z", rows, 1),
            alpha: slot("alpha", one, 1),
            beta: slot("beta", one, 1),
            last: slot("last r z", one, 1),
            bb: slot("b b", one, 1),
            left: slot("residual left", one, 1),
        }
    }

    /// Improves the system's estimate until the residual is small.
    pub(super) fn solve(&self, plan: &mut Plan, system: &dyn System, done: StopRule) {
        plan.pass(Dot, [self.b, self.b], [self.rr]);
        plan.pass(Scalar::Norm, [self.rr], [self.bb]);
        system.start(plan, self);
        plan.pass(Scalar::Start, [self.rz], [self.beta, self.last]);
        let until = Until {
            slot: self.left,
            at_most: done.tolerance * done.tolerance,
            every: done.every,
        };
        plan.repeat(done.most, Some(until), |plan| {
            system.product(plan, self);
            plan.pass(Scalar::Alpha, [self.pap, self.last], [self.alpha]);
            system.advance(plan, self);
            plan.pass(Scalar::Share, [self.rr, self.bb], [self.left]);
            system.precondition(plan, self);
            plan.pass(Scalar::Beta, [self.rz], [self.beta, self.last]);
            system.direction(plan, self);
        });
    }
}
