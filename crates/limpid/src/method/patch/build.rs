//! The passes of a patch reconstruction.

use super::{Layers, Patch, extra_layers, features, half_layers, has_halves, selection_layer};
use crate::method::Schedule;
use crate::method::descent::{Descent, StopRule, System};
use crate::method::poisson::build::{Reconstruct, channels, reg};
use crate::method::poisson::{Norm, PoissonSchedule};
use crate::method::window::{box_mean, separable};
use crate::{Error, Layer, Part, Result, Shape};
use limpid_kernel_photo::window::Filter;
use limpid_kernel_render::patch::{
    Advance, Assemble, BASIS_PLANES, Basis, CROSS_PLANES, Multiply, NextDirection, Omega,
    WEIGHT_PLANES, Weights, apart, cross_error, differences, larger, least, matrix_size, middle,
    scaled, shares, squared_difference,
};
use limpid_kernel_render::poisson::{Dot, right_side, weigh};
use limpid_kernel_render::rdfc::{
    blend, contrast, half_difference, image_variance, join, square, zeros,
};
use limpid_plan::{Element, Plan, Role, Slot, SlotId};
use limpid_reference::definition::patch::{
    CANDIDATES, Candidate, ERROR_RADIUS, GUIDE_ALPHA, PATCH, SECOND_ALPHA, used,
};

/// Maximum number of steps of one solve.
const MOST_STEPS: usize = 1000;
/// Steps between two checks of the residual.
const LOOK_EVERY: usize = 8;
/// Factor of the tolerance in all rounds but the last, because later rounds change the weights anyway: a third less work,
/// relMSE within 5 %, up or down.
const EARLY: f32 = 30.0;
/// Residual of the plain fits, which cost little.
const FIT_TOLERANCE: f32 = 1e-6;

pub(super) fn plan(patch: &Patch, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
    let channels = channels(shape, &Layer::COLOR)?;
    for layer in half_layers(Part::Mean) {
        let own = self::channels(shape, &layer)?;
        if own != channels {
            return Err(Error::input(format!(
                "layer {layer} has {own} channels and color {channels}; they must agree"
            )));
        }
    }
    let mut build = Build {
        plan: Plan::new(format!("patch {schedule}"), shape.size),
        patch,
        shape,
        channels,
        solver: schedule.choice()?,
    };
    build.run();
    Ok(build.plan)
}

struct Build<'a> {
    plan: Plan,
    patch: &'a Patch,
    shape: &'a Shape,
    channels: usize,
    solver: PoissonSchedule,
}

/// Features, their variance and their spread, in three slots.
struct Guides {
    slots: [SlotId; 3],
    planes: usize,
}

/// The slots of a solve, used for all candidates.
struct Solver {
    weights: SlotId,
    basis: SlotId,
    omega: SlotId,
    cross: SlotId,
    matrix: SlotId,
    grid: SlotId,
    x: SlotId,
    descent: Descent,
}

/// An assembled matrix, with its diagonal as preconditioner, and an estimate.
struct Assembled {
    matrix: SlotId,
    x: SlotId,
}

impl System for Assembled {
    fn start(&self, plan: &mut Plan, slots: &Descent) {
        let residual = Multiply { residual: true };
        plan.pass(residual, [self.matrix, self.x, slots.b], [slots.r]);
        plan.pass(
            NextDirection { first: true },
            [self.matrix, slots.r],
            [slots.p],
        );
        plan.pass(Dot, [slots.r, slots.p], [slots.rz]);
    }

    fn product(&self, plan: &mut Plan, slots: &Descent) {
        let product = Multiply { residual: false };
        plan.pass(product, [self.matrix, slots.p], [slots.ap, slots.pap]);
    }

    fn advance(&self, plan: &mut Plan, slots: &Descent) {
        let reads = [slots.alpha, slots.p, slots.ap, self.matrix];
        plan.pass(Advance, reads, [self.x, slots.r, slots.rr, slots.rz]);
    }

    fn direction(&self, plan: &mut Plan, slots: &Descent) {
        let next = NextDirection { first: false };
        plan.pass(next, [self.matrix, slots.r, slots.beta], [slots.p]);
    }
}

impl Build<'_> {
    fn run(&mut self) {
        let n = self.channels;
        let all = self.samples(Part::Mean);
        let halves = has_halves(|l| self.shape.has(l))
            .then(|| [self.samples(Part::HalfA), self.samples(Part::HalfB)]);
        let guide = self.fit(Norm::L1, GUIDE_ALPHA, all);
        let fits = halves.map(|halves| halves.map(|h| self.fit(Norm::L1, GUIDE_ALPHA, h)));
        let variance = match fits {
            Some([a, b]) => {
                let difference = self.plan.transient("half difference", n);
                let raw = self.plan.transient("two-buffer variance", n);
                let out = self.plan.transient("variance", n);
                self.plan.pass(half_difference(), [a, b], [difference]);
                self.plan.pass(square(0), [difference], [raw]);
                let blurred = separable(&mut self.plan, raw, Filter::Gaussian { sigma: 1.0 }, 2);
                self.plan.pass(larger(), [raw, blurred], [out]);
                out
            }
            None => {
                let raw = self.plan.transient("least differences", n);
                self.plan.pass(image_variance(), [guide], [raw]);
                box_mean(&mut self.plan, raw, 3)
            }
        };
        let unbiased = halves.map(|h| h.map(|h| self.fit(Norm::L2, GUIDE_ALPHA, h)));
        let guides = self.guides();
        let solver = self.solver();
        let half = halves.map(|_| self.plan.transient("half estimate", n));
        let mut made = Vec::new();
        let mut errors = Vec::new();
        for candidate in CANDIDATES.into_iter().take(used(self.patch.thesis)) {
            self.constrain(&solver, candidate, (guide, variance), &guides);
            self.reweighted(&solver, candidate, all);
            let out = self.second_pass(all[0], solver.x);
            made.push(out);
            if let (Some([a, _]), Some([first, second]), Some(half)) = (halves, unbiased, half) {
                self.copy(solver.x, half);
                self.plan.pass(
                    right_side(),
                    [solver.grid, a[0], a[1], a[2]],
                    [solver.descent.b],
                );
                self.solve(&solver, half, self.patch.tolerance);
                let half = self.second_pass(a[0], half);
                errors.push(self.error([out, half, first, second]));
            }
        }
        if !self.patch.thesis {
            if let (Some([a, b]), Some([first, second])) = (fits, unbiased) {
                let mean = self.plan.transient("mean of fits", n);
                self.plan.pass(middle(), [a, b], [mean]);
                errors.push(self.error([mean, a, first, second]));
            }
            made.push(guide);
        }
        self.finish(&made, &errors, unbiased);
    }

    /// The estimated error of a candidate, from a half of it and the fits of both halves.
    fn error(&mut self, from: [SlotId; 4]) -> SlotId {
        let raw = self.plan.transient("squared error", 1);
        self.plan.pass(cross_error(self.channels), from, [raw]);
        box_mean(&mut self.plan, raw, ERROR_RADIUS)
    }

    /// The shares of the candidates, from their errors.
    fn shares(&mut self, made: &[SlotId], errors: SlotId, [a, b]: [SlotId; 2]) -> SlotId {
        let n = self.channels;
        let squares = self.plan.transient("squared differences", n);
        self.plan.pass(squared_difference(), [a, b], [squares]);
        let noise = box_mean(&mut self.plan, squares, ERROR_RADIUS);
        let mut far = |other: SlotId| {
            let raw = self.plan.transient("distance", 2);
            self.plan.pass(apart(n), [other, made[0], noise], [raw]);
            box_mean(&mut self.plan, raw, ERROR_RADIUS)
        };
        let (second, plain) = (far(made[1]), far(made[2]));
        let maps = self.plan.transient("shares", 3);
        let reads = [errors, second, plain, made[0], made[2]];
        self.plan.pass(shares(n), reads, [maps]);
        maps
    }

    /// Selection and outputs.
    fn finish(&mut self, made: &[SlotId], errors: &[SlotId], unbiased: Option<[SlotId; 2]>) {
        let n = self.channels;
        let joined = self.plan.transient("errors", 3);
        if let [a, b, c] = errors {
            let takes = vec![(0, 1); 3];
            self.plan.pass(join(&takes), [*a, *b, *c], [joined]);
        } else {
            // With equal errors, the first one is taken.
            let takes = vec![(0, 1); 3];
            let same = self.plan.transient("no errors", n);
            self.plan.pass(zeros(), [made[0]], [same]);
            self.plan.pass(join(&takes), [same, same, same], [joined]);
        }
        let maps = match unbiased {
            Some(unbiased) if !self.patch.thesis => self.shares(made, joined, unbiased),
            _ => {
                let maps = self.plan.transient("selection", 3);
                self.plan.pass(least(), [joined], [maps]);
                maps
            }
        };
        let out = self.plan.output(Layer::COLOR, n);
        self.plan
            .pass(blend(), [maps, made[0], made[1], made[2]], [out]);
        if self.patch.layers == Layers::All {
            for (layer, slot) in extra_layers("candidate").into_iter().zip(made) {
                self.write(layer, *slot, n);
            }
            for (layer, slot) in extra_layers("error").into_iter().zip(errors) {
                self.write(layer, *slot, 1);
            }
            self.write(selection_layer(), maps, 3);
        }
    }

    fn samples(&mut self, part: Part) -> [SlotId; 3] {
        half_layers(part).map(|layer| self.plan.input(layer, self.channels))
    }

    fn fit(&mut self, norm: Norm, alpha: f64, from: [SlotId; 3]) -> SlotId {
        let fit = Reconstruct {
            norm,
            alpha: alpha as f32,
            tolerance: FIT_TOLERANCE,
            solver: self.solver,
        };
        fit.add(&mut self.plan, from, self.channels)
    }

    /// Combines all features, scaled to a range of one.
    fn guides(&mut self) -> Guides {
        let (mut means, mut variances) = (Vec::new(), Vec::new());
        let (mut takes, mut factors) = (Vec::new(), Vec::new());
        for kind in features(|k| self.shape.has(k)) {
            let planes = self.shape.channels(&kind.clone().into()).unwrap_or(1);
            let mean = self.plan.input(kind.clone(), planes);
            let noise = Layer::new(kind.clone(), Part::Variance);
            variances.push(if self.shape.has(noise.clone()) {
                self.plan.input(noise, planes)
            } else {
                let zero = self.plan.transient("no variance", planes);
                self.plan.pass(zeros(), [mean], [zero]);
                zero
            });
            means.push(mean);
            takes.push((0, planes));
            factors.extend(vec![self.patch.scale(&kind); planes]);
        }
        let planes = factors.len();
        if planes == 0 {
            return Guides {
                slots: [SlotId(0); 3],
                planes,
            };
        }
        let squares = factors.iter().map(|f| f * f).collect();
        let mut joined = |from: Vec<SlotId>, factors: Vec<f32>| {
            let raw = self.plan.transient("raw features", planes);
            let out = self.plan.transient("features", planes);
            let takes = takes.clone();
            self.plan.pass(join(&takes), from, [raw]);
            self.plan.pass(scaled(&factors), [raw], [out]);
            out
        };
        let mean = joined(means, factors);
        let variance = joined(variances, squares);
        let spread = self.plan.transient("spread of features", planes);
        self.plan.pass(contrast(), [mean, variance], [spread]);
        Guides {
            slots: [mean, variance, spread],
            planes,
        }
    }

    fn solver(&mut self) -> Solver {
        let n = self.channels;
        let plan = &mut self.plan;
        let size = plan.size();
        let bases = Slot::new("basis", Role::Transient, size, BASIS_PLANES);
        let matrix = Slot::new("matrix", Role::Transient, matrix_size(size), 1);
        Solver {
            weights: plan.transient("weights", WEIGHT_PLANES),
            basis: plan.slot(bases.element(Element::U32)),
            omega: plan.transient("omega", PATCH),
            cross: plan.transient("cross", CROSS_PLANES),
            matrix: plan.slot(matrix),
            grid: plan.transient("grid", 4),
            x: plan.transient("estimate", n),
            descent: Descent::new(plan, n),
        }
    }

    /// Weights and bases of a candidate.
    fn constrain(
        &mut self,
        solver: &Solver,
        candidate: Candidate,
        (guide, variance): (SlotId, SlotId),
        guides: &Guides,
    ) {
        let features = guides.planes;
        let kernel = Weights {
            color: candidate.color as f32,
            feature: candidate.feature as f32,
            features,
        };
        let (mut reads, mut base) = (vec![guide, variance], vec![solver.weights]);
        if features > 0 {
            reads.extend(guides.slots);
            base.push(guides.slots[0]);
        }
        self.plan.pass(kernel, reads, [solver.weights]);
        let thesis = self.patch.thesis;
        self.plan
            .pass(Basis { features, thesis }, base, [solver.basis]);
    }

    /// Solves with least absolute errors, by reweighting.
    fn reweighted(&mut self, solver: &Solver, candidate: Candidate, all: [SlotId; 3]) {
        let [base, dx, dy] = all;
        let Solver {
            x,
            grid,
            basis,
            weights,
            omega,
            cross,
            matrix,
            ..
        } = *solver;
        self.copy(base, x);
        for round in 0..self.patch.rounds {
            let (alpha, reg) = (self.patch.alpha, reg(round));
            let (beta, channels) = (candidate.beta as f32, self.channels);
            let plan = &mut self.plan;
            plan.pass(weigh(channels, alpha, reg), [x, base, dx, dy], [grid]);
            plan.pass(Omega { beta, reg }, [basis, weights, x], [omega, cross]);
            plan.pass(Assemble, [basis, omega, cross, grid], [matrix]);
            plan.pass(right_side(), [grid, base, dx, dy], [solver.descent.b]);
            let last = round + 1 == self.patch.rounds;
            let ease = if last { 1.0 } else { EARLY };
            self.solve(solver, x, ease * self.patch.tolerance);
        }
    }

    /// Improves an estimate until the residual is small.
    fn solve(&mut self, solver: &Solver, x: SlotId, tolerance: f32) {
        let matrix = solver.matrix;
        let done = StopRule {
            tolerance,
            most: MOST_STEPS,
            every: LOOK_EVERY,
        };
        let system = Assembled { matrix, x };
        solver.descent.solve(&mut self.plan, &system, done);
    }

    /// The differences of an estimate with the brightness of the base image.
    fn second_pass(&mut self, base: SlotId, x: SlotId) -> SlotId {
        let n = self.channels;
        let (dx, dy) = (
            self.plan.transient("dx of estimate", n),
            self.plan.transient("dy of estimate", n),
        );
        self.plan.pass(differences(), [x], [dx, dy]);
        self.fit(Norm::L2, SECOND_ALPHA, [base, dx, dy])
    }

    fn copy(&mut self, from: SlotId, to: SlotId) {
        let takes = vec![(0, self.channels)];
        self.plan.pass(join(&takes), [from], [to]);
    }

    fn write(&mut self, layer: Layer, slot: SlotId, planes: usize) {
        let out = self.plan.output(layer, planes);
        let takes = vec![(0, planes)];
        self.plan.pass(join(&takes), [slot], [out]);
    }
}
