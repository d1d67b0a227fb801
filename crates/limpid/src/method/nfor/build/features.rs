//! Noisy features, filtered before they are used.

use super::Build;
use crate::method::window::box_mean;
use crate::{Kind, Layer, Part};
use limpid_kernel_render::front::{
    log_variance, logarithm, roughness, square_difference, variance,
};
use limpid_kernel_render::nlm::{Nlm, Noise};
use limpid_kernel_render::rdfc::join;
use limpid_plan::SlotId;

impl Build<'_> {
    /// Features filtered by themselves, each kind by its own noise.
    pub(super) fn prefiltered(
        &mut self,
        slot: SlotId,
        kinds: &[Kind],
        counts: &[usize],
        inputs: &[SlotId],
    ) -> SlotId {
        let mut made = Vec::new();
        let mut first = 0;
        for ((kind, planes), input) in kinds.iter().zip(counts).zip(inputs) {
            let group = self.plan.transient(format!("{kind:?} alone"), *planes);
            let takes = vec![(first, *planes)];
            self.plan.pass(join(&takes), [slot], [group]);
            let noise = match self.known(kind, *planes, *input) {
                Some(known) => known,
                None => {
                    let raw = self.small(roughness(*planes), "roughness", &[group], 1);
                    let log = self.small(logarithm(), "its logarithm", &[raw], 1);
                    let mean = box_mean(&mut self.plan, log, 4);
                    let kernel = variance(*planes);
                    let noise = self.small(kernel, "feature noise", &[mean], *planes);
                    box_mean(&mut self.plan, noise, 2)
                }
            };
            let filter = Nlm {
                channels: *planes,
                ..Nlm::new(7, 3, 1.0, Noise::Pixel)
            };
            let out = self.plan.transient(format!("{kind:?} filtered"), *planes);
            self.plan.pass(filter, [group, noise], [out]);
            made.push((out, *planes));
            first += planes;
        }
        let out = self.plan.transient("filtered features", first);
        let takes: Vec<(usize, usize)> = made.iter().map(|(_, n)| (0, *n)).collect();
        let reads: Vec<SlotId> = made.iter().map(|(slot, _)| *slot).collect();
        self.plan.pass(join(&takes), reads, [out]);
        out
    }

    /// The variance of a feature, if the frame has it.
    fn known(&mut self, kind: &Kind, planes: usize, input: SlotId) -> Option<SlotId> {
        if *kind == Kind::Position {
            return None;
        }
        let layer = |part| Layer::new(kind.clone(), part);
        let has = |part| self.shape.has(layer(part));
        let variance = if has(Part::Variance) {
            self.plan.input(layer(Part::Variance), planes)
        } else if has(Part::HalfA) && has(Part::HalfB) {
            let a = self.plan.input(layer(Part::HalfA), planes);
            let b = self.plan.input(layer(Part::HalfB), planes);
            let squares = self.small(square_difference(0.25), "half differences", &[a, b], planes);
            box_mean(&mut self.plan, squares, 3)
        } else {
            return None;
        };
        Some(match kind {
            Kind::Depth => self.small(
                log_variance(),
                "variance of log depth",
                &[variance, input],
                1,
            ),
            _ => variance,
        })
    }
}
