//! The passes before the levels.

use super::super::Atrous;
use super::{ANY, halves, is_sharp, kinds};
use crate::method::Backend;
use crate::method::window::box_mean;
use crate::{Kind, Layer, Part, Shape};
use limpid_kernel_render::front as kernel;
use limpid_plan::{Plan, SlotId};
use limpid_reference::definition::nfor::DARK;

/// Adds them to a plan.
pub(super) struct Build<'a> {
    pub(super) method: &'a Atrous,
    pub(super) shape: &'a Shape,
    pub(super) plan: &'a mut Plan,
    pub(super) on: Backend,
    pub(super) channels: usize,
}

/// The output of the preprocessing.
pub(super) struct Front {
    pub(super) divide: SlotId,
    /// The layers of albedo and normals.
    pub(super) sharp: Vec<SlotId>,
    /// Depth and class, positions.
    pub(super) features: SlotId,
    pub(super) light: SlotId,
    /// The per-pixel variance of its brightness, before smoothing.
    pub(super) noise: SlotId,
    pub(super) guide: SlotId,
    /// Brightness before and after outliers were clamped.
    pub(super) limit: Option<[SlotId; 2]>,
}

impl Build<'_> {
    pub(super) fn small(
        &mut self,
        kernel: impl limpid_plan::Kernel + 'static,
        name: &str,
        reads: &[SlotId],
        planes: usize,
    ) -> SlotId {
        let out = self.plan.transient(name, planes);
        self.plan.pass(kernel, reads, [out]);
        out
    }

    fn bright(&mut self, slot: SlotId) -> SlotId {
        let planes = self.plan.at(slot).planes;
        self.small(kernel::brightness(planes, 1), "brightness", &[slot], 1)
    }

    pub(super) fn over(&mut self, layer: Layer, divide: SlotId) -> SlotId {
        let n = self.shape.channels(&layer).unwrap_or(self.channels);
        let slot = self.plan.input(layer, n);
        self.small(
            kernel::divide(n != self.channels),
            "over divisor",
            &[slot, divide],
            n,
        )
    }

    pub(super) fn run(&mut self) -> Front {
        let (n, kinds) = (self.channels, kinds(self.shape));
        let has = |k: Kind| kinds.contains(&k);
        let surface = kernel::Surface {
            albedo: has(Kind::Albedo),
            normal: has(Kind::Normal),
            depth: has(Kind::Depth).then_some(ANY),
            position: has(Kind::Position).then_some(self.method.scale()),
            copies: false,
            divide: self.method.divides(),
            exposure: self.method.exposure(),
        };
        let mut reads: Vec<SlotId> = Vec::new();
        for kind in &kinds {
            reads.push(self.plan.input(kind.clone(), kind.channels()[0]));
        }
        let sharp = reads[..kinds.iter().filter(|k| is_sharp(k)).count()].to_vec();
        let lit = !halves(self.shape);
        if lit || reads.is_empty() {
            reads.push(self.plan.input(Layer::COLOR, n));
        }
        let class = self.plan.transient("class", 1);
        let divide = self.plan.transient("divisor", n);
        let features = self.plan.transient("features", surface.planes());
        let mut writes = vec![class, divide, features];
        let (light, noise, guide, limit) = if lit {
            let light = self.plan.transient("light", n);
            let bright = self.plan.transient("brightness", 1);
            writes.extend([light, bright]);
            self.plan.pass(surface.kernel(n, true), reads, writes);
            self.one([light, bright], [class, divide], &sharp)
        } else {
            self.plan.pass(surface.kernel(n, false), reads, writes);
            let (light, noise, limit) = self.two(class, divide);
            (light, noise, None, limit)
        };
        let guide = match (guide, limit) {
            (Some(guide), _) => guide,
            (None, Some([_, after])) => box_mean(self.plan, after, 1),
            (None, None) => {
                let bright = self.bright(light);
                box_mean(self.plan, bright, 1)
            }
        };
        Front {
            divide,
            sharp,
            features,
            light,
            noise,
            guide,
            limit,
        }
    }

    /// Colour over the divisor, and its brightness.
    fn lit(&mut self, layer: Layer, divide: SlotId) -> (SlotId, SlotId) {
        let n = self.channels;
        let slot = self.plan.input(layer, n);
        let light = self.plan.transient("light", n);
        let bright = self.plan.transient("brightness", 1);
        let kernel = kernel::light(n);
        self.plan.pass(kernel, [slot, divide], [light, bright]);
        (light, bright)
    }

    /// Light with outliers clamped, and its brightness.
    fn limited(
        &mut self,
        slot: SlotId,
        [own, other]: [SlotId; 2],
        class: SlotId,
    ) -> (SlotId, SlotId) {
        let limit = kernel::Limit {
            by_other: own != other,
            floor: DARK,
            step: 1,
            brightness: true,
        };
        let light = self.plan.transient("limited", self.channels);
        let bright = self.plan.transient("limited brightness", 1);
        let reads = [slot, own, other, class];
        self.plan.pass(limit, reads, [light, bright]);
        (light, bright)
    }

    /// The light of two halves, its noise, and its brightness before and after clamping.
    fn two(&mut self, class: SlotId, divide: SlotId) -> (SlotId, SlotId, Option<[SlotId; 2]>) {
        let n = self.channels;
        let [(a, bright_a), (b, bright_b)] =
            [Part::HalfA, Part::HalfB].map(|part| self.lit(Layer::new(Kind::Color, part), divide));
        let mut halves = [a, b];
        if self.method.guards() {
            halves = [
                self.limited(a, [bright_a, bright_b], class).0,
                self.limited(b, [bright_b, bright_a], class).0,
            ];
        }
        let mut light = self.small(kernel::middle(), "light", &halves, n);
        let squares = self.small(
            kernel::square_difference(0.25),
            "half differences",
            &halves,
            n,
        );
        let noise = self.bright(squares);
        let mut limit = None;
        if self.method.guards() {
            // One factor for all channels, so that light layers still add up.
            let (mean, before) = self.lit(Layer::COLOR, divide);
            let after = self.bright(light);
            light = self.small(kernel::follow(), "limited light", &[mean, after, before], n);
            limit = Some([before, after]);
        }
        (light, noise, limit)
    }

    /// The same for one buffer, given its light and brightness; also returns the brightness that guides the first level, if it
    /// was computed.
    fn one(
        &mut self,
        [mut light, before]: [SlotId; 2],
        [class, divide]: [SlotId; 2],
        sharp: &[SlotId],
    ) -> (SlotId, SlotId, Option<SlotId>, Option<[SlotId; 2]>) {
        let n = self.channels;
        let (mut limit, mut bright) = (None, before);
        if self.method.guards() {
            let (limited, after) = self.limited(light, [before, before], class);
            (light, limit, bright) = (limited, Some([before, after]), after);
        }
        let known = Layer::new(Kind::Color, Part::Variance);
        if self.shape.channels(&known) == Some(n) {
            let once = self.over(known, divide);
            let twice = self.small(kernel::divide(false), "variance", &[once, divide], n);
            let mut bright = self.bright(twice);
            if let Some([before, after]) = limit {
                for _ in 0..2 {
                    let reads = [bright, after, before];
                    bright = self.small(kernel::follow(), "limited variance", &reads, 1);
                }
            }
            return (light, bright, None, limit);
        }
        // On the CPU a separate pass is faster.
        let guides = self.on == Backend::Gpu;
        let mut reads = vec![light, class];
        reads.extend(guides.then_some(bright));
        reads.extend(sharp);
        let has = |kind: Kind| kinds(self.shape).contains(&kind);
        let kernel = kernel::unrest(n, has(Kind::Albedo), has(Kind::Normal), guides);
        let unrest = self.plan.transient("unrest", 1);
        let guide = guides.then(|| self.plan.transient("guide", 1));
        let writes: Vec<SlotId> = [Some(unrest), guide].into_iter().flatten().collect();
        self.plan.pass(kernel, reads, writes);
        (light, unrest, guide, limit)
    }
}
