//! Slots, and the layers that are filtered along with the colour.

use super::{Setup, layers};
use crate::method::Backend;
use crate::{Kind, Layer, Part, Shape};
use limpid_kernel_render::atrous::FEATURES;
use limpid_kernel_render::front::{brightness, follow, follow_each};
use limpid_kernel_render::pack::{Pack, PackedAt, Unpack};
use limpid_kernel_render::svgf::{Across, Change, MOMENTS, Past};
use limpid_plan::{Element, Layout, Plan, Role, Slot, SlotId};

/// A layer that is filtered along with the colour.
pub(in crate::method) struct Light {
    pub(in crate::method) layer: Layer,
    /// Its position among the lights.
    pub(in crate::method) packed_at: PackedAt,
}

impl Light {
    pub(in crate::method) fn all(shape: &Shape, albedo: bool) -> Vec<Self> {
        let mut plane = 0;
        let lights = shape.layers.iter().filter(|(layer, _)| {
            layer.part == Part::Mean && matches!(layer.kind, Kind::Light(_) | Kind::Alpha)
        });
        let place = |(vector, (layer, channels)): (usize, (&Layer, &usize))| {
            plane += channels;
            Self {
                layer: layer.clone(),
                packed_at: PackedAt {
                    channels: *channels,
                    plane: plane - channels,
                    vector,
                    lane: 0,
                    albedo: albedo && layer.kind != Kind::Alpha,
                    variance: false,
                },
            }
        };
        lights.enumerate().map(place).collect()
    }
}

pub(in crate::method) fn planes(lights: &[Light]) -> usize {
    lights.iter().map(|l| l.packed_at.channels).sum()
}

/// Creates slots of a plan for a back end.
pub(in crate::method) struct Slots {
    pub(in crate::method) plan: Plan,
    pub(in crate::method) on: Backend,
    pub(in crate::method) colors: usize,
    pub(in crate::method) half: bool,
    /// Planes of light layers, and number of light layers.
    pub(in crate::method) lights: (usize, usize),
}

impl Slots {
    pub(in crate::method) fn add(
        &mut self,
        name: &str,
        role: Role,
        planes: usize,
        element: Element,
    ) -> SlotId {
        self.add_vectors(name, role, (planes, 1), element)
    }

    /// Adds a slot with this many planes on the CPU, or this many vectors on a GPU.
    fn add_vectors(
        &mut self,
        name: &str,
        role: Role,
        (planes, vectors): (usize, usize),
        element: Element,
    ) -> SlotId {
        let (planes, element) = match self.on {
            Backend::Cpu => (planes, Element::F32),
            Backend::Gpu => (vectors, element),
        };
        let slot = Slot::new(name, role, self.plan.size(), planes);
        self.plan.slot(slot.element(element))
    }

    pub(in crate::method) fn moments(&mut self, name: &str, role: Role) -> SlotId {
        self.add(name, role, MOMENTS, Element::F32x4)
    }

    pub(in crate::method) fn features(&mut self, name: &str, role: Role, layout: Layout) -> SlotId {
        let id = self.add(name, role, FEATURES, Element::U32x4);
        self.plan.set_layout(id, layout);
        id
    }

    pub(in crate::method) fn payload(&mut self, name: &str, role: Role, layout: Layout) -> SlotId {
        let element = if self.half {
            Element::F16x4
        } else {
            Element::F32x4
        };
        let (planes, vectors) = self.lights;
        let count = (self.colors + 1 + planes, 1 + vectors);
        let id = self.add_vectors(name, role, count, element);
        self.plan.set_layout(id, layout);
        id
    }

    /// Compares the light around each pixel with that of the history; the payload keeps what [`Temporal`] needs of it.
    ///
    /// [`Temporal`]: limpid_kernel_render::svgf::Temporal
    pub(super) fn change(
        &mut self,
        colors: usize,
        (color, albedo): (SlotId, Option<SlotId>),
        [moments, motion, payload]: [SlotId; 3],
    ) {
        let across = self.moments("across", Role::Transient);
        let kernel = Across {
            colors,
            albedo: albedo.is_some(),
        };
        let reads: Vec<SlotId> = [Some(color), albedo, Some(moments)]
            .into_iter()
            .flatten()
            .collect();
        self.plan.pass(kernel, reads, [across]);
        self.plan
            .pass(Change { colors }, [across, motion], [payload]);
    }

    /// The light layers side by side, divided by albedo.
    pub(in crate::method) fn lights(
        &mut self,
        lights: &[Light],
        albedo: Option<SlotId>,
    ) -> Option<SlotId> {
        if lights.is_empty() {
            return None;
        }
        let slot = self.add_vectors("lights", Role::Transient, self.lights, Element::F32x4);
        for (i, Light { layer, packed_at }) in lights.iter().enumerate() {
            let mut reads = vec![self.plan.input(layer.clone(), packed_at.channels)];
            reads.extend(albedo.filter(|_| packed_at.albedo));
            let pack = Pack {
                packed_at: *packed_at,
                first: i == 0,
                half: false,
            };
            self.plan.pass(pack, reads, [slot]);
        }
        Some(slot)
    }

    /// Extracts the light layers from the result; `change` is the colour before and after the last step.
    pub(in crate::method) fn outputs(
        &mut self,
        lights: &[Light],
        result: SlotId,
        albedo: Option<SlotId>,
        change: Option<[SlotId; 2]>,
    ) {
        for Light { layer, packed_at } in lights {
            let n = packed_at.channels;
            let inside = PackedAt {
                plane: self.colors + 1 + packed_at.plane,
                vector: 1 + packed_at.vector,
                ..*packed_at
            };
            let unpack = Unpack::from(&self.plan, result, inside, false);
            let mut reads = vec![result];
            reads.extend(albedo.filter(|_| packed_at.albedo));
            let light = match change {
                Some(_) if layer.kind != Kind::Alpha => self.plan.transient("light", n),
                _ => self.plan.output(layer.clone(), n),
            };
            self.plan.pass(unpack, reads, [light]);
            if let Some(change) = change.filter(|_| layer.kind != Kind::Alpha) {
                self.follow(layer, n, light, change);
            }
        }
    }

    /// Applies the last step's change of the colour to a light layer.
    pub(in crate::method) fn follow(
        &mut self,
        layer: &Layer,
        channels: usize,
        light: SlotId,
        [before, after]: [SlotId; 2],
    ) {
        let output = self.plan.output(layer.clone(), channels);
        if channels == self.colors {
            let reads = [light, after, before];
            return self.plan.pass(follow_each(), reads, [output]);
        }
        let [before, after] = [before, after].map(|slot| {
            let bright = self.plan.transient("brightness", 1);
            let kernel = brightness(self.colors, 1);
            self.plan.pass(kernel, [slot], [bright]);
            bright
        });
        self.plan.pass(follow(), [light, after, before], [output]);
    }

    /// Blends colour and all layers filtered along with it with the history of the same surfaces. Returns motion and depth, and
    /// the blended layers, colour first.
    pub(in crate::method) fn accumulate(
        &mut self,
        setup: &Setup,
        alpha: f32,
    ) -> ((Option<SlotId>, Option<SlotId>), Vec<SlotId>) {
        let (mut reads, albedo, depth) = layers(&mut self.plan, setup);
        reads.extend(self.lights(&setup.lights, albedo));
        let motion = self.plan.input(Kind::Motion, 2);
        let rows = Layout::Rows;
        let light = ["light", "last light"].map(|n| self.payload(n, Role::History, rows));
        let features = ["features", "last features"].map(|n| self.features(n, Role::History, rows));
        let moments = ["moments", "last moments"].map(|n| self.moments(n, Role::History));
        reads.push(motion);
        let all = [light, features, moments];
        for [now, last] in all {
            self.plan.swap(now, last);
            reads.push(last);
        }
        self.change(
            setup.colors,
            (reads[0], albedo),
            [moments[1], motion, light[0]],
        );
        let (temporal, _) = setup.before(Some(Past {
            alpha,
            mirrors: setup.settings.mirrors,
            order: None,
        }));
        self.plan.pass(temporal, reads, all.map(|[now, _]| now));
        let color = PackedAt {
            channels: setup.colors,
            plane: 0,
            vector: 0,
            lane: 0,
            albedo: albedo.is_some(),
            variance: false,
        };
        let lights = setup.lights.iter().map(|Light { packed_at, .. }| PackedAt {
            plane: self.colors + 1 + packed_at.plane,
            vector: 1 + packed_at.vector,
            ..*packed_at
        });
        let placed: Vec<PackedAt> = std::iter::once(color).chain(lights).collect();
        let made = placed.into_iter().map(|packed_at| {
            let made = self.plan.transient("accumulated", packed_at.channels);
            let mut reads = vec![light[0]];
            reads.extend(albedo.filter(|_| packed_at.albedo));
            let unpack = Unpack::from(&self.plan, light[0], packed_at, false);
            self.plan.pass(unpack, reads, [made]);
            made
        });
        let made = made.collect();
        ((Some(motion), depth), made)
    }
}
