//! Plans for engines, which keep their images in textures.

use super::{Element, Home, Pass, Plan, Role, Slot, SlotId, Step};
use crate::kernel::texture::{FromTexture, ToTexture};
use std::sync::Arc;

impl Plan {
    /// The plan with a texture in place of each input and output: four channels of `element`, the layer's planes first.
    /// A pass takes the planes out of each input before all others, and one packs each output after them.
    #[must_use]
    pub fn on_textures(mut self, element: Element) -> Self {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for i in 0..self.slots.len() {
            let role = std::mem::replace(&mut self.slots[i].role, Role::Transient);
            let pass = |kernel, from: usize, to: usize| {
                Step::Pass(Pass {
                    kernel,
                    reads: vec![SlotId(from)],
                    writes: vec![SlotId(to)],
                })
            };
            let texture = self.slots.len();
            match role {
                Role::Input(_) => before.push(pass(Arc::new(FromTexture), texture, i)),
                Role::Output(_) => after.push(pass(Arc::new(ToTexture { margin: 0 }), i, texture)),
                Role::Transient | Role::History | Role::Data(_) => {
                    self.slots[i].role = role;
                    continue;
                }
            }
            let slot = Slot::new(self.slots[i].name.clone(), role, self.slots[i].size, 1);
            self.slots.push(slot.element(element).home(Home::Texture));
        }
        before.append(&mut self.steps);
        before.append(&mut after);
        self.steps = before;
        self
    }
}
