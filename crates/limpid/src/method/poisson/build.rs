//! The passes of a Poisson reconstruction.

use super::{Norm, Poisson, PoissonSchedule};
use crate::method::Schedule;
use crate::method::descent::{Descent, StopRule, System};
use crate::{Error, Kind, Layer, Result, Shape, Size};
use limpid_kernel_render::poisson::{
    Advance, Apply, Coarsen, Cosine, Dot, Down, Up, coarse, direction, residual, right_side, weigh,
};
use limpid_kernel_render::rdfc::join;
use limpid_plan::{Plan, Role, Slot, SlotId};
use limpid_reference::definition::poisson::{REG_INIT, REG_ITER, ROUNDS};

/// Maximum number of steps of one solve: far more than any converging one needs.
const MOST_STEPS: usize = 200;
/// The same for conjugate gradients without a preconditioner.
const MOST_PLAIN_STEPS: usize = 5000;
/// Steps between two checks of the residual.
const LOOK_EVERY: usize = 2;

pub(super) fn plan(poisson: &Poisson, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
    let mut plan = Plan::new(format!("poisson {schedule}"), shape.size);
    let color = Layer::COLOR;
    let channels = channels(shape, &color)?;
    for kind in [Kind::Dx, Kind::Dy] {
        let layer = Layer::from(kind);
        let own = self::channels(shape, &layer)?;
        if own != channels {
            return Err(Error::input(format!(
                "layer {layer} has {own} channels and color {channels}; they must agree"
            )));
        }
    }
    let base = plan.input(color.clone(), channels);
    let dx = plan.input(Kind::Dx, channels);
    let dy = plan.input(Kind::Dy, channels);
    let fit = Reconstruct {
        norm: poisson.norm,
        alpha: poisson.alpha,
        tolerance: poisson.tolerance,
        solver: schedule.choice()?,
    };
    let x = fit.add(&mut plan, [base, dx, dy], channels);
    let out = plan.output(color, channels);
    let takes = vec![(0, channels)];
    plan.pass(join(&takes), [x], [out]);
    Ok(plan)
}

/// A Poisson fit as part of a plan.
#[derive(Debug, Clone, Copy)]
pub(in crate::method) struct Reconstruct {
    pub(in crate::method) norm: Norm,
    pub(in crate::method) alpha: f32,
    pub(in crate::method) tolerance: f32,
    /// The DCT solver supports squared errors only; for absolute errors multigrid replaces it.
    pub(in crate::method) solver: PoissonSchedule,
}

impl Reconstruct {
    /// Adds the fit of a base image and its differences, and returns the slot of the result.
    pub(in crate::method) fn add(
        self,
        plan: &mut Plan,
        from: [SlotId; 3],
        channels: usize,
    ) -> SlotId {
        let [base, dx, dy] = from;
        let alpha = self.alpha;
        if self.solver == PoissonSchedule::Dct && self.norm == Norm::L2 {
            let grid = plan.transient("grid", 4);
            let b = plan.transient("right side", channels);
            let out = plan.transient("fit", channels);
            plan.pass(weigh(channels, alpha, None), [base, base, dx, dy], [grid]);
            plan.pass(right_side(), [grid, base, dx, dy], [b]);
            plan.pass(Cosine { alpha }, [b], [out]);
            return out;
        }
        let plain = self.solver == PoissonSchedule::Plain;
        let descent = Descent::new(plan, channels);
        let grids = Grids::new(plan, channels, descent.r, plain);
        let takes = vec![(0, channels)];
        plan.pass(join(&takes), [base], [grids.x]);
        let rounds = match self.norm {
            Norm::L1 => ROUNDS,
            Norm::L2 => 1,
        };
        let done = StopRule {
            tolerance: self.tolerance,
            most: if plain { MOST_PLAIN_STEPS } else { MOST_STEPS },
            every: LOOK_EVERY,
        };
        for round in 0..rounds {
            let [grid, ..] = grids.levels[0];
            let weigh = weigh(channels, alpha, reg(round));
            plan.pass(weigh, [grids.x, base, dx, dy], [grid]);
            for pair in grids.levels.windows(2) {
                plan.pass(Coarsen, [pair[0][0]], [pair[1][0]]);
            }
            plan.pass(right_side(), [grid, base, dx, dy], [descent.b]);
            descent.solve(plan, &grids, done);
        }
        grids.x
    }
}

/// `reg` of a round: `None` in the first, where all weights are one.
pub(in crate::method) fn reg(round: usize) -> Option<f32> {
    let before = round.checked_sub(1)?;
    Some((REG_INIT * REG_ITER.powi(before as i32)) as f32)
}

pub(in crate::method) fn channels(shape: &Shape, layer: &Layer) -> Result<usize> {
    let why = "a reconstruction needs color, dx and dy";
    let found = shape.channels(layer);
    found.ok_or_else(|| Error::missing(layer.clone(), why))
}

/// The system of a Poisson fit: the slots of each level, and the estimate.
struct Grids {
    /// Grid, residual and correction of each level, the finest first.
    levels: Vec<[SlotId; 3]>,
    x: SlotId,
}

impl Grids {
    /// Without a preconditioner there is one level, whose correction is the residual.
    fn new(plan: &mut Plan, channels: usize, residual: SlotId, plain: bool) -> Self {
        let mut size = plan.size();
        let x = plan.transient("estimate", channels);
        let mut slot = |name: &str, size: Size, planes: usize| {
            plan.slot(Slot::new(name, Role::Transient, size, planes))
        };
        let grid = slot("grid", size, 4);
        if plain {
            let levels = vec![[grid, residual, residual]];
            return Self { levels, x };
        }
        let mut levels = vec![[grid, residual, slot("correction", size, channels)]];
        while size.pixels() > 1 {
            size = coarse(size);
            levels.push([
                slot("grid", size, 4),
                slot("residual", size, channels),
                slot("correction", size, channels),
            ]);
        }
        Self { levels, x }
    }
}

impl System for Grids {
    fn start(&self, plan: &mut Plan, slots: &Descent) {
        let [grid, r, z] = self.levels[0];
        plan.pass(residual(), [grid, self.x, slots.b], [r]);
        self.precondition(plan, slots);
        plan.pass(direction(true), [z], [slots.p]);
    }

    fn product(&self, plan: &mut Plan, slots: &Descent) {
        let [grid, ..] = self.levels[0];
        plan.pass(Apply, [grid, slots.p], [slots.ap, slots.pap]);
    }

    fn advance(&self, plan: &mut Plan, slots: &Descent) {
        let reads = [slots.alpha, slots.p, slots.ap];
        plan.pass(Advance, reads, [self.x, slots.r, slots.rr]);
    }

    /// One V-cycle: computes the correction from the residual.
    fn precondition(&self, plan: &mut Plan, slots: &Descent) {
        let [_, r, z] = self.levels[0];
        if z == r {
            return plan.pass(Dot, [r, z], [slots.rz]);
        }
        for pair in self.levels.windows(2) {
            let [grid, residual, _] = pair[0];
            plan.pass(Down, [grid, residual], [pair[1][1]]);
        }
        let last = self.levels.len() - 1;
        for (i, [grid, residual, correction]) in self.levels.iter().enumerate().rev() {
            let (coarsest, sums) = (i == last, i == 0);
            let (mut reads, mut writes) = (vec![*grid, *residual], vec![*correction]);
            if !coarsest {
                reads.push(self.levels[i + 1][2]);
            }
            if sums {
                writes.push(slots.rz);
            }
            plan.pass(Up { coarsest, sums }, reads, writes);
        }
    }

    fn direction(&self, plan: &mut Plan, slots: &Descent) {
        let [_, _, z] = self.levels[0];
        plan.pass(direction(false), [z, slots.beta], [slots.p]);
    }
}
