//! Plans for engines, which keep their images in textures.

use super::{Backing, Element, Pass, Plan, Role, Slot, SlotId};
use crate::texture::{FromTexture, ToTexture};
use std::sync::Arc;

impl Plan {
    /// Replaces each input and output by a texture: four channels of `element`, the layer's planes first. Passes that can read
    /// textures do; for the others, a pass at the beginning extracts the planes of an input. A pass at the end packs each
    /// output.
    #[must_use]
    pub fn on_textures(mut self, element: Element) -> Self {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let pass = |kernel, from: usize, to: usize| Pass {
            kernel,
            reads: vec![SlotId(from)],
            writes: vec![SlotId(to)],
        };
        for i in 0..self.slots.len() {
            let texture = self.slots.len();
            match self.slots[i].role {
                Role::Input(_) => {
                    if !reads_planes(&self, SlotId(i)) {
                        let slot = self.slots[i].clone();
                        self.slots[i] = as_texture(slot, element);
                        continue;
                    }
                    read_instead(&mut self.passes, SlotId(i), SlotId(texture));
                    before.push(pass(Arc::new(FromTexture), texture, i));
                }
                Role::Output(_) => after.push(pass(Arc::new(ToTexture { margin: 0 }), i, texture)),
                Role::Transient | Role::History | Role::Data(_) => continue,
            }
            let slot = self.slots[i].clone();
            self.slots[i].role = Role::Transient;
            self.slots.push(as_texture(slot, element));
        }
        let repeats = self.repeats.into_iter();
        self.repeats = repeats.map(|r| r.moved(before.len(), |id| id)).collect();
        before.append(&mut self.passes);
        before.append(&mut after);
        self.passes = before;
        self
    }

    /// For devices that bind few storage buffers at a time, such as those of browsers: passes that bind more than `most` read
    /// their inputs from textures, as far as they can and have to. A pass at the beginning packs each of these inputs.
    #[must_use]
    pub fn with_bindings(mut self, most: usize) -> Self {
        let mut before = Vec::new();
        for i in 0..self.slots.len() {
            let texture = SlotId(self.slots.len());
            let takes = |(k, pass): (usize, &Pass)| {
                let mut reads = pass.reads.iter().enumerate();
                let can = |(k, id): (usize, &SlotId)| id.0 == i && pass.kernel.reads_texture(k);
                (buffers(&self, pass) > most && reads.any(can)).then_some(k)
            };
            let over: Vec<usize> = match self.slots[i].role {
                Role::Input(_) => self.passes.iter().enumerate().filter_map(takes).collect(),
                _ => continue,
            };
            if over.is_empty() {
                continue;
            }
            for k in over {
                read_instead(&mut self.passes[k..=k], SlotId(i), texture);
            }
            let mut packed = as_texture(self.slots[i].clone(), Element::F32x4);
            packed.role = Role::Transient;
            self.slots.push(packed);
            before.push(Pass {
                kernel: Arc::new(ToTexture { margin: 0 }),
                reads: vec![SlotId(i)],
                writes: vec![texture],
            });
        }
        let repeats = self.repeats.into_iter();
        self.repeats = repeats.map(|r| r.moved(before.len(), |id| id)).collect();
        before.append(&mut self.passes);
        self.passes = before;
        self
    }
}

/// How many storage buffers a pass binds.
fn buffers(plan: &Plan, pass: &Pass) -> usize {
    let bound = pass.reads.iter().chain(&pass.writes);
    let buffer = |id: &&SlotId| plan.slots[id.0].backing == Backing::Buffer;
    bound.filter(buffer).count()
}

fn as_texture(slot: Slot, element: Element) -> Slot {
    let texture = Slot::new(slot.name, slot.role, slot.size, 1);
    texture.element(element).backing(Backing::Texture)
}

/// Whether some pass needs the planes of a slot.
fn reads_planes(plan: &Plan, id: SlotId) -> bool {
    plan.passes.iter().any(|pass| {
        let mut reads = pass.reads.iter().enumerate();
        reads.any(|(k, read)| *read == id && !pass.kernel.reads_texture(k))
    })
}

/// Makes passes that can read textures read `texture` instead of `id`.
fn read_instead(passes: &mut [Pass], id: SlotId, texture: SlotId) {
    for pass in passes {
        for (k, read) in pass.reads.iter_mut().enumerate() {
            if *read == id && pass.kernel.reads_texture(k) {
                *read = texture;
            }
        }
    }
}
