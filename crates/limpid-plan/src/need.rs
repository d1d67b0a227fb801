//! What kernels rely on of their slots.

use crate::{Backing, Element, PassSlots, Role, Slot};
use limpid_core::Size;
use std::fmt;

/// What a kernel relies on of one slot: how many elements it has, of which kind, in which form.
///
/// A kernel returns one for each slot of a pass ([`crate::Kernel::needs`]). [`crate::Plan::check`] refuses plans whose slots do
/// not have what their kernels need, and a shader runs without bounds checks only on slots that do ([`crate::Dispatch::trusted`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    extent: Extent,
    element: Element,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// An image of this size with at least this many planes.
    Image(Size, usize),
    /// At least this many elements in a buffer.
    Values(usize),
}

impl Need {
    /// An image of this size with `planes` planes of `f32` or more.
    pub const fn planes(size: Size, planes: usize) -> Self {
        Self {
            extent: Extent::Image(size, planes),
            element: Element::F32,
        }
    }

    /// At least `count` numbers in a buffer of any form.
    pub const fn values(count: usize) -> Self {
        Self {
            extent: Extent::Values(count),
            element: Element::F32,
        }
    }

    /// The slot as it is, for kernels that take what they rely on from the slot itself.
    pub const fn like(slot: &Slot) -> Self {
        Self {
            extent: Extent::Image(slot.size, slot.planes),
            element: slot.element,
        }
    }

    /// The same need with other elements.
    #[must_use]
    pub const fn of(mut self, element: Element) -> Self {
        self.element = element;
        self
    }

    /// Whether a slot has what is needed. Textures have one plane of texels, whose channels are the planes.
    pub fn is_met(&self, slot: &Slot) -> bool {
        let texture = slot.backing != Backing::Buffer;
        match self.extent {
            Extent::Image(size, planes) if texture => slot.size == size && planes <= 4,
            Extent::Image(size, planes) => {
                let words =
                    |planes: usize, element: Element| planes.saturating_mul(element.words());
                // A shader may declare the slot by its own element or by the needed one: indices must fit both.
                let (has, needed) = (slot.element.words(), self.element.words());
                slot.size == size
                    && words(slot.planes, slot.element) >= words(planes, self.element)
                    && (has <= needed || slot.planes >= planes)
            }
            Extent::Values(_) if texture => false,
            Extent::Values(count) => {
                let held = slot.size.pixels().saturating_mul(slot.planes);
                held >= count && slot.element.words() == self.element.words()
            }
        }
    }
}

/// `3 planes of 640x480`.
impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extent {
            Extent::Image(size, 1) => write!(f, "a plane of {size}")?,
            Extent::Image(size, planes) => write!(f, "{planes} planes of {size}")?,
            Extent::Values(count) => write!(f, "{count} values")?,
        }
        match self.element {
            Element::F32 => Ok(()),
            element => write!(f, " of {}", element.wgsl()),
        }
    }
}

impl PassSlots<'_> {
    /// The slots, those that are read first.
    pub fn all(&self) -> impl Iterator<Item = &Slot> {
        self.reads.iter().chain(&self.writes).copied()
    }

    /// One need for each slot, from the slot: for kernels whose slots do not depend on each other.
    pub fn each(&self, need: impl Fn(&Slot) -> Need) -> Vec<Need> {
        self.all().map(need).collect()
    }

    /// Whether there is a need for each slot, and all are met.
    pub(crate) fn meets(&self, needs: &[Need]) -> bool {
        needs.len() == self.reads.len() + self.writes.len()
            && self.all().zip(needs).all(|(slot, need)| need.is_met(slot))
    }

    /// The first slot that lacks what is needed, in words.
    pub(crate) fn unmet(&self, needs: &[Need]) -> Option<String> {
        let (slot, need) = self.all().zip(needs).find(|(s, n)| !n.is_met(s))?;
        let name = match &slot.role {
            Role::Input(layer) => format!("the layer {layer}"),
            _ => format!("'{}'", slot.name),
        };
        let has = Need::like(slot);
        Some(format!("needs {need} of {name}, which has {has}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    fn slot(planes: usize) -> Slot {
        let role = Role::Input(limpid_core::Layer::COLOR);
        Slot::new("color", role, Size::new(8, 4), planes).layout(Layout::Rows)
    }

    #[test]
    fn slots_have_what_is_needed_or_not() {
        let size = Size::new(8, 4);
        assert!(Need::planes(size, 3).is_met(&slot(3)));
        assert!(Need::planes(size, 1).is_met(&slot(3)));
        assert!(!Need::planes(size, 3).is_met(&slot(1)));
        assert!(!Need::planes(Size::new(4, 8), 3).is_met(&slot(3)));
        assert!(!Need::planes(size, 1).of(Element::F32x4).is_met(&slot(3)));
        assert!(Need::planes(size, 1).of(Element::F32x4).is_met(&slot(4)));
        let wide = slot(1).element(Element::F32x4);
        assert!(Need::planes(size, 1).is_met(&wide));
        assert!(!Need::planes(size, 3).is_met(&wide));
        assert!(Need::values(96).is_met(&slot(3)));
        assert!(!Need::values(97).is_met(&slot(3)));
        let texture = slot(1).backing(Backing::Texture);
        assert!(Need::planes(size, 3).is_met(&texture));
        assert!(!Need::values(1).is_met(&texture));
        let large = Slot::new("huge", Role::Transient, Size::new(usize::MAX, 2), 3);
        assert!(!Need::planes(size, 1).is_met(&large));
    }
}
