//! Slots, and the layers that are filtered along with the colour.

use crate::kernel::atrous::FEATURES;
use crate::kernel::front::{brightness, follow, follow_each};
use crate::kernel::pack::{Pack, Spot, Unpack};
use crate::kernel::svgf::MOMENTS;
use crate::method::Backend;
use crate::plan::{Element, Layout, Plan, Role, Slot, SlotId};
use crate::{Kind, Layer, Part, Shape};

/// A layer that is filtered along with the colour.
pub(super) struct Light {
    pub(super) layer: Layer,
    /// Where it lies among the lights.
    pub(super) spot: Spot,
}

impl Light {
    pub(super) fn all(shape: &Shape, albedo: bool) -> Vec<Self> {
        let mut plane = 0;
        let lights = shape.layers.iter().filter(|(layer, _)| {
            layer.part == Part::Mean && matches!(layer.kind, Kind::Light(_) | Kind::Alpha)
        });
        let place = |(vector, (layer, channels)): (usize, (&Layer, &usize))| {
            plane += channels;
            Self {
                layer: layer.clone(),
                spot: Spot {
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

pub(super) fn planes(lights: &[Light]) -> usize {
    lights.iter().map(|l| l.spot.channels).sum()
}

/// Makes slots of a plan by back end.
pub(super) struct Slots {
    pub(super) plan: Plan,
    pub(super) on: Backend,
    pub(super) colors: usize,
    pub(super) half: bool,
    /// Planes of light layers, and how many layers they are.
    pub(super) lights: (usize, usize),
}

impl Slots {
    pub(super) fn add(
        &mut self,
        name: &str,
        role: Role,
        planes: usize,
        element: Element,
    ) -> SlotId {
        self.add_vectors(name, role, (planes, 1), element)
    }

    /// So many planes on the CPU, so many vectors on a GPU.
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
        let slot = Slot::new(name, role, self.plan.size, planes);
        self.plan.slot(slot.element(element))
    }

    pub(super) fn moments(&mut self, name: &str, role: Role) -> SlotId {
        self.add(name, role, MOMENTS, Element::F32x4)
    }

    pub(super) fn features(&mut self, name: &str, role: Role, layout: Layout) -> SlotId {
        let id = self.add(name, role, FEATURES, Element::U32x4);
        self.plan.slots[id.0].layout = layout;
        id
    }

    pub(super) fn payload(&mut self, name: &str, role: Role, layout: Layout) -> SlotId {
        let element = if self.half {
            Element::F16x4
        } else {
            Element::F32x4
        };
        let (planes, vectors) = self.lights;
        let count = (self.colors + 1 + planes, 1 + vectors);
        let id = self.add_vectors(name, role, count, element);
        self.plan.slots[id.0].layout = layout;
        id
    }

    /// The light layers side by side, divided by albedo.
    pub(super) fn lights(&mut self, lights: &[Light], albedo: Option<SlotId>) -> Option<SlotId> {
        if lights.is_empty() {
            return None;
        }
        let slot = self.add_vectors("lights", Role::Transient, self.lights, Element::F32x4);
        for (i, Light { layer, spot }) in lights.iter().enumerate() {
            let mut reads = vec![self.plan.input(layer.clone(), spot.channels)];
            reads.extend(albedo.filter(|_| spot.albedo));
            let pack = Pack {
                spot: *spot,
                first: i == 0,
                half: false,
            };
            self.plan.pass(pack, reads, [slot]);
        }
        Some(slot)
    }

    /// Takes the light layers out of the result; `change` is the colour before and after the last step.
    pub(super) fn outputs(
        &mut self,
        lights: &[Light],
        result: SlotId,
        albedo: Option<SlotId>,
        change: Option<[SlotId; 2]>,
    ) {
        for Light { layer, spot } in lights {
            let n = spot.channels;
            let inside = Spot {
                plane: self.colors + 1 + spot.plane,
                vector: 1 + spot.vector,
                ..*spot
            };
            let unpack = Unpack {
                spot: inside,
                exact: false,
            };
            let mut reads = vec![result];
            reads.extend(albedo.filter(|_| spot.albedo));
            let Some([before, after]) = change.filter(|_| layer.kind != Kind::Alpha) else {
                let output = self.plan.output(layer.clone(), n);
                self.plan.pass(unpack, reads, [output]);
                continue;
            };
            let light = self.plan.transient("light", n);
            self.plan.pass(unpack, reads, [light]);
            let output = self.plan.output(layer.clone(), n);
            if n == self.colors {
                let reads = [light, after, before];
                self.plan.pass(follow_each(), reads, [output]);
            } else {
                let [before, after] = [before, after].map(|slot| {
                    let bright = self.plan.transient("brightness", 1);
                    let kernel = brightness(self.colors, 1);
                    self.plan.pass(kernel, [slot], [bright]);
                    bright
                });
                self.plan.pass(follow(), [light, after, before], [output]);
            }
        }
    }
}
