//! The reversible 5/3 transform as a plan, and by its definition.

use super::Ready;
use crate::{Image, Result};
use limpid_kernel_wavelet::reversible::Reversible;
use limpid_kernel_wavelet::shrink::Roll;
use limpid_plan::{Plan, Role, Slot, SlotId};
use limpid_reference::definition::dwt::{Arrangement, reversible_forward, reversible_inverse};

impl Ready {
    /// The largest sample of reversible transforms.
    pub(super) fn largest(&self) -> Option<f32> {
        self.reversible.map(|bits| ((1u32 << bits) - 1) as f32)
    }

    /// Adds the levels between an image and its packed coefficients, in either direction.
    pub(super) fn reversible_levels(
        &self,
        plan: &mut Plan,
        (image, packed): (SlotId, SlotId),
        back: bool,
    ) {
        let (size, planes) = (plan.at(image).size, plan.at(image).planes);
        let sizes = super::ready::halved(size, self.levels);
        let mut slot = |name: &str| plan.slot(Slot::new(name, Role::Transient, size, planes));
        let lines = slot("lines");
        let axis = |down, size, whole| Reversible {
            down,
            back,
            size,
            whole,
        };
        if !back {
            for (l, size) in sizes.iter().enumerate() {
                let from = if l == 0 { image } else { packed };
                plan.pass(
                    axis(false, *size, self.largest().filter(|_| l == 0)),
                    [from],
                    [lines],
                );
                plan.pass(axis(true, *size, None), [lines], [packed]);
            }
            return;
        }
        // Inputs are not changed; levels are assembled in a copy.
        let work = slot("work");
        let copy = Roll {
            by: (0, 0),
            weight: 1.0,
            add: false,
        };
        plan.pass(copy, [packed], [work]);
        for (l, size) in sizes.iter().enumerate().rev() {
            let to = if l == 0 { image } else { work };
            plan.pass(axis(true, *size, None), [work], [lines]);
            plan.pass(
                axis(false, *size, self.largest().filter(|_| l == 0)),
                [lines],
                [to],
            );
        }
    }

    /// The coefficients by the definition.
    pub(super) fn define_reversible(&self, image: &Image, whole: f32) -> Result<Image> {
        let mut data = Vec::new();
        for c in 0..image.channels() {
            let plane = image.plane(c).iter();
            let mut samples: Vec<i32> = plane.map(|v| (v * whole + 0.5).floor() as i32).collect();
            reversible_forward(&mut samples, image.size(), self.levels)?;
            data.extend(samples.iter().map(|v| *v as f32));
        }
        let spread = Image::from_planes(image.width(), image.height(), image.channels(), data)?;
        let dwt = self.definition();
        let bands = dwt.unpack(&spread, image.size(), Arrangement::Interleaved)?;
        dwt.pack(&bands, self.layout)
    }

    /// The image by the definition.
    pub(super) fn define_reversible_back(&self, packed: &Image, whole: f32) -> Result<Image> {
        let dwt = self.definition();
        let bands = dwt.unpack(packed, packed.size(), self.layout)?;
        let spread = dwt.pack(&bands, Arrangement::Interleaved)?;
        let mut data = Vec::new();
        for c in 0..packed.channels() {
            let plane = spread.plane(c).iter();
            let mut samples: Vec<i32> = plane.map(|v| (v + 0.5).floor() as i32).collect();
            reversible_inverse(&mut samples, packed.size(), self.levels)?;
            data.extend(samples.iter().map(|v| *v as f32 / whole));
        }
        Image::from_planes(packed.width(), packed.height(), packed.channels(), data)
    }
}
