//! Preprocessing: classes, and limits for outliers.

use super::{Build, Signal};
use crate::method::rdfc::part;
use crate::{Kind, Part, Result};
use limpid_kernel_render::front::{Limit, brightness, class, lower, middle};
use limpid_plan::{Plan, SlotId};

/// The output of the preprocessing: classes, and the brightness before and after outliers were clamped.
pub(super) struct Front {
    pub(super) class: SlotId,
    before: SlotId,
    after: SlotId,
}

impl Front {
    /// Applies the clamping to a layer.
    pub(super) fn follow(&self, plan: &mut Plan, slot: SlotId, planes: usize) -> SlotId {
        let out = plan.transient("limited with colour", planes);
        plan.pass(lower(), [slot, self.after, self.before], [out]);
        out
    }
}

impl Build<'_> {
    /// The colour with clamped outliers, each half by the other or the mean by itself.
    pub(super) fn limited(&mut self) -> Result<(Signal, Option<Front>)> {
        let (mean, halves, n) = self.inputs(&Kind::Color)?;
        let kinds = [Kind::Albedo, Kind::Normal, Kind::Depth];
        let mut reads = Vec::new();
        for kind in &kinds {
            if let Some(planes) = self.shape.channels(&kind.clone().into()) {
                reads.push(self.plan.input(kind.clone(), planes));
            }
        }
        let [albedo, normal, depth] = kinds.map(|k| self.shape.has(k));
        if reads.is_empty() {
            reads.push(mean);
        }
        let class_slot = self.plan.transient("class", 1);
        self.plan
            .pass(class(albedo, normal, depth), reads, [class_slot]);
        let limit = Limit {
            by_other: halves.is_some(),
            floor: self.rdfc.dark(),
            step: 1,
            brightness: false,
        };
        let bright = |plan: &mut Plan, slot| {
            let out = plan.transient("brightness", 1);
            plan.pass(brightness(n, 1), [slot], [out]);
            out
        };
        let apply = |plan: &mut Plan, slot, own, other| {
            let out = plan.transient("limited", n);
            plan.pass(limit, [slot, own, other, class_slot], [out]);
            out
        };
        let plan = &mut self.plan;
        let before = bright(plan, mean);
        let (now, halves) = match halves {
            Some([a, b]) => {
                let (of_a, of_b) = (bright(plan, a), bright(plan, b));
                let halves = [apply(plan, a, of_a, of_b), apply(plan, b, of_b, of_a)];
                let out = plan.transient("limited mean", n);
                plan.pass(middle(), halves, [out]);
                (out, Some(halves))
            }
            None => (apply(plan, mean, before, before), None),
        };
        let front = Front {
            class: class_slot,
            before,
            after: bright(plan, now),
        };
        // One factor for all channels preserves the sum of light layers.
        let now = front.follow(&mut self.plan, mean, n);
        let v = part(Kind::Color, Part::Variance);
        let variance = self.shape.has(v.clone()).then(|| {
            let v = self.plan.input(v, n);
            let once = front.follow(&mut self.plan, v, n);
            front.follow(&mut self.plan, once, n)
        });
        Ok((self.signal_of((now, halves, n), variance), Some(front)))
    }
}
