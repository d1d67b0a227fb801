//! The passes of a Poisson reconstruction.

use super::{Norm, Poisson};
use crate::definition::poisson::{REG_INIT, REG_ITER, ROUNDS};
use crate::kernel::poisson::{
    Apply, Coarsen, Cosine, Direction, Dot, Down, RightSide, Scalar, Step, Up, Weigh, coarse,
};
use crate::kernel::rdfc::Join;
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
    let alpha = poisson.alpha;
    if schedule.as_str() == "dct" {
        let grid = plan.transient("grid", 4);
        let b = plan.transient("right side", channels);
        let out = plan.output(color, channels);
        plan.pass(Weigh { alpha, reg: None }, [base, base, dx, dy], [grid]);
        plan.pass(RightSide, [grid, base, dx, dy], [b]);
        plan.pass(Cosine { alpha }, [b], [out]);
        return Ok(plan);
    }
    let plain = schedule.as_str() == "plain";
    let mut solver = Solver::new(&mut plan, channels, poisson.tolerance, plain);
    solver.start(base);
    let rounds = match poisson.norm {
        Norm::L1 => ROUNDS,
        Norm::L2 => 1,
    };
    for round in 0..rounds {
        let reg = (round > 0).then(|| (REG_INIT * REG_ITER.powi(round as i32 - 1)) as f32);
        let x = solver.x;
        solver.weigh(Weigh { alpha, reg }, [x, base, dx, dy]);
        solver.coarsen();
        solver.right_side([base, dx, dy]);
        solver.solve();
    }
    let x = solver.x;
    let out = plan.output(color, channels);
    let takes = vec![(0, channels)];
    plan.pass(Join { takes }, [x], [out]);
    Ok(plan)
}

fn channels(shape: &Shape, layer: &Layer) -> Result<usize> {
    shape.channels(layer).ok_or_else(|| {
        Error::input(format!(
            "layer {layer} is missing; a reconstruction needs color, dx and dy, as `limpid render --gradients` writes them"
        ))
    })
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
    /// Sums of rows; then single numbers.
    sums: SlotId,
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
            sums: slot("sums of rows", Size::new(1, finest.height), 1),
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
        self.plan.pass(Join { takes }, [from], [self.x]);
    }

    fn weigh(&mut self, weigh: Weigh, reads: [SlotId; 4]) {
        self.plan.pass(weigh, reads, [self.levels[0][0]]);
    }

    fn coarsen(&mut self) {
        for pair in self.levels.windows(2) {
            self.plan.pass(Coarsen, [pair[0][0]], [pair[1][0]]);
        }
    }

    fn right_side(&mut self, [base, dx, dy]: [SlotId; 3]) {
        let grid = self.levels[0][0];
        self.plan.pass(RightSide, [grid, base, dx, dy], [self.b]);
    }

    /// One V-cycle: from the residual to the correction.
    fn cycle(&self) -> Vec<plan::Step> {
        let mut steps = Vec::new();
        if self.plain {
            return steps;
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
            steps.push(plan::Step::pass(Up { coarsest }, reads, [*correction]));
        }
        steps
    }

    /// Improves the estimate until the residual is small.
    fn solve(&mut self) {
        let [grid, r, z] = self.levels[0];
        let first = [
            plan::Step::pass(Dot, [self.b, self.b], [self.sums]),
            plan::Step::pass(Scalar::Norm, [self.sums], [self.bb]),
            plan::Step::pass(Apply { residual: true }, [grid, self.x, self.b], [r]),
        ];
        self.plan.steps.extend(first);
        let cycle = self.cycle();
        self.plan.steps.extend(cycle);
        let begin = [
            plan::Step::pass(Dot, [r, z], [self.sums]),
            plan::Step::pass(Scalar::Start, [self.sums], [self.beta, self.rz]),
            plan::Step::pass(Direction { first: true }, [z, self.beta], [self.p]),
        ];
        self.plan.steps.extend(begin);
        let mut steps = vec![
            plan::Step::pass(Apply { residual: false }, [grid, self.p], [self.ap]),
            plan::Step::pass(Dot, [self.p, self.ap], [self.sums]),
            plan::Step::pass(Scalar::Alpha, [self.sums, self.rz], [self.alpha]),
            plan::Step::pass(Step, [self.alpha, self.p, self.ap], [self.x, r]),
            plan::Step::pass(Dot, [r, r], [self.sums]),
            plan::Step::pass(Scalar::Share, [self.sums, self.bb], [self.left]),
        ];
        steps.extend(self.cycle());
        steps.extend([
            plan::Step::pass(Dot, [r, z], [self.sums]),
            plan::Step::pass(Scalar::Beta, [self.sums], [self.beta, self.rz]),
            plan::Step::pass(Direction { first: false }, [z, self.beta], [self.p]),
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
