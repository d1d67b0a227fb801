//! The passes of a Poisson reconstruction.

use super::{Norm, Poisson, PoissonSchedule};
use crate::definition::poisson::{REG_INIT, REG_ITER, ROUNDS};
use crate::kernel::poisson::{
    Apply, Coarsen, Cosine, Dot, Down, Scalar, Step, Up, coarse, direction, residual, right_side,
    weigh,
};
use crate::kernel::rdfc::join;
use crate::kernel::stencil::Stencil;
use crate::method::Schedule;
use crate::plan::{self, Plan, Role, Slot, SlotId, Until};
use crate::{Error, Kind, Layer, Result, Shape, Size};

/// Most steps of one solve: far more than any converging one needs.
const MOST_STEPS: usize = 200;
/// The same without a preconditioner.
const MOST_PLAIN_STEPS: usize = 5000;
/// Steps between two looks at the residual.
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
    let fit = Fit {
        norm: poisson.norm,
        alpha: poisson.alpha,
        tolerance: poisson.tolerance,
        way: schedule.choice()?,
    };
    let x = fit.add(&mut plan, [base, dx, dy], channels);
    let out = plan.output(color, channels);
    let takes = vec![(0, channels)];
    plan.pass(join(&takes), [x], [out]);
    Ok(plan)
}

/// A Poisson fit as part of a plan.
#[derive(Debug, Clone, Copy)]
pub(in crate::method) struct Fit {
    pub(in crate::method) norm: Norm,
    pub(in crate::method) alpha: f32,
    pub(in crate::method) tolerance: f32,
    /// Least absolute errors have no solution by cosines; there multigrid takes their place.
    pub(in crate::method) way: PoissonSchedule,
}

impl Fit {
    /// Adds the fit of a base image and its differences, and says where the result is.
    pub(in crate::method) fn add(
        self,
        plan: &mut Plan,
        from: [SlotId; 3],
        channels: usize,
    ) -> SlotId {
        let [base, dx, dy] = from;
        let alpha = self.alpha;
        if self.way == PoissonSchedule::Dct && self.norm == Norm::L2 {
            let grid = plan.transient("grid", 4);
            let b = plan.transient("right side", channels);
            let out = plan.transient("fit", channels);
            plan.pass(weigh(channels, alpha, None), [base, base, dx, dy], [grid]);
            plan.pass(right_side(), [grid, base, dx, dy], [b]);
            plan.pass(Cosine { alpha }, [b], [out]);
            return out;
        }
        let plain = self.way == PoissonSchedule::Plain;
        let mut solver = Solver::new(plan, channels, self.tolerance, plain);
        solver.start(base);
        let rounds = match self.norm {
            Norm::L1 => ROUNDS,
            Norm::L2 => 1,
        };
        for round in 0..rounds {
            let x = solver.x;
            solver.weigh(weigh(channels, alpha, reg(round)), [x, base, dx, dy]);
            solver.coarsen();
            solver.right_side([base, dx, dy]);
            solver.solve();
        }
        solver.x
    }
}

/// `reg` of a round: none at first, where all weights are one.
pub(in crate::method) fn reg(round: usize) -> Option<f32> {
    let before = round.checked_sub(1)?;
    Some((REG_INIT * REG_ITER.powi(before as i32)) as f32)
}

pub(in crate::method) fn channels(shape: &Shape, layer: &Layer) -> Result<usize> {
    let why = "a reconstruction needs color, dx and dy";
    let found = shape.channels(layer);
    found.ok_or_else(|| Error::missing(layer.clone(), why))
}

/// The slots of a solve: what belongs to each level, and to the finest one alone.
struct Solver<'a> {
    plan: &'a mut Plan,
    channels: usize,
    tolerance: f32,
    /// Whether there is no preconditioner, and so no other level.
    plain: bool,
    /// Grid, residual and correction of each level, the finest first.
    levels: Vec<[SlotId; 3]>,
    x: SlotId,
    b: SlotId,
    p: SlotId,
    ap: SlotId,
    /// Sums of rows: `p·Ap`, `r·r` and `r·z`; then single numbers.
    sums: [SlotId; 3],
    alpha: SlotId,
    beta: SlotId,
    rz: SlotId,
    bb: SlotId,
    left: SlotId,
}

impl<'a> Solver<'a> {
    fn new(plan: &'a mut Plan, channels: usize, tolerance: f32, plain: bool) -> Self {
        let finest = plan.size;
        let mut slot = |name: &str, size: Size, planes: usize| {
            plan.slot(Slot::new(name, Role::Transient, size, planes))
        };
        let one = Size::new(1, 1);
        let mut level = |size: Size| {
            let (grid, r) = (slot("grid", size, 4), slot("residual", size, channels));
            let z = if plain {
                r
            } else {
                slot("correction", size, channels)
            };
            [grid, r, z]
        };
        let mut size = finest;
        let mut levels = vec![level(size)];
        while size.pixels() > 1 && !plain {
            size = coarse(size);
            levels.push(level(size));
        }
        Self {
            channels,
            tolerance,
            plain,
            levels,
            x: slot("estimate", finest, channels),
            b: slot("right side", finest, channels),
            p: slot("direction", finest, channels),
            ap: slot("product", finest, channels),
            sums: ["p Ap", "r r", "r z"].map(|name| slot(name, Size::new(1, finest.height), 1)),
            alpha: slot("alpha", one, 1),
            beta: slot("beta", one, 1),
            rz: slot("r z", one, 1),
            bb: slot("b b", one, 1),
            left: slot("residual left", one, 1),
            plan,
        }
    }

    /// The estimate to begin with.
    fn start(&mut self, from: SlotId) {
        let takes = vec![(0, self.channels)];
        self.plan.pass(join(&takes), [from], [self.x]);
    }

    fn weigh(&mut self, weigh: Stencil, reads: [SlotId; 4]) {
        self.plan.pass(weigh, reads, [self.levels[0][0]]);
    }

    fn coarsen(&mut self) {
        for pair in self.levels.windows(2) {
            self.plan.pass(Coarsen, [pair[0][0]], [pair[1][0]]);
        }
    }

    fn right_side(&mut self, [base, dx, dy]: [SlotId; 3]) {
        let grid = self.levels[0][0];
        self.plan.pass(right_side(), [grid, base, dx, dy], [self.b]);
    }

    /// One V-cycle: from the residual to the correction.
    fn cycle(&self) -> Vec<plan::Step> {
        let mut steps = Vec::new();
        let [_, _, scaled] = self.sums;
        if self.plain {
            let [_, r, z] = self.levels[0];
            return vec![plan::Step::pass(Dot, [r, z], [scaled])];
        }
        for pair in self.levels.windows(2) {
            let [grid, residual, _] = pair[0];
            steps.push(plan::Step::pass(Down, [grid, residual], [pair[1][1]]));
        }
        let last = self.levels.len() - 1;
        for (i, [grid, residual, correction]) in self.levels.iter().enumerate().rev() {
            let coarsest = i == last;
            let mut reads = vec![*grid, *residual];
            if !coarsest {
                reads.push(self.levels[i + 1][2]);
            }
            let sums = i == 0;
            let mut writes = vec![*correction];
            if sums {
                writes.push(scaled);
            }
            steps.push(plan::Step::pass(Up { coarsest, sums }, reads, writes));
        }
        steps
    }

    /// Improves the estimate until the residual is small.
    fn solve(&mut self) {
        let [grid, r, z] = self.levels[0];
        let [pap, rr, scaled] = self.sums;
        let first = [
            plan::Step::pass(Dot, [self.b, self.b], [rr]),
            plan::Step::pass(Scalar::Norm, [rr], [self.bb]),
            plan::Step::pass(residual(), [grid, self.x, self.b], [r]),
        ];
        self.plan.steps.extend(first);
        let cycle = self.cycle();
        self.plan.steps.extend(cycle);
        let begin = [
            plan::Step::pass(Scalar::Start, [scaled], [self.beta, self.rz]),
            plan::Step::pass(direction(true), [z, self.beta], [self.p]),
        ];
        self.plan.steps.extend(begin);
        let product = Apply;
        let mut steps = vec![
            plan::Step::pass(product, [grid, self.p], [self.ap, pap]),
            plan::Step::pass(Scalar::Alpha, [pap, self.rz], [self.alpha]),
            plan::Step::pass(Step, [self.alpha, self.p, self.ap], [self.x, r, rr]),
            plan::Step::pass(Scalar::Share, [rr, self.bb], [self.left]),
        ];
        steps.extend(self.cycle());
        steps.extend([
            plan::Step::pass(Scalar::Beta, [scaled], [self.beta, self.rz]),
            plan::Step::pass(direction(false), [z, self.beta], [self.p]),
        ]);
        self.plan.steps.push(plan::Step::Repeat {
            steps,
            most: if self.plain {
                MOST_PLAIN_STEPS
            } else {
                MOST_STEPS
            },
            until: Some(Until {
                slot: self.left,
                at_most: self.tolerance * self.tolerance,
                every: LOOK_EVERY,
            }),
        });
    }
}
