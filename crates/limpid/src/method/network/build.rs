//! The passes of a network.

use super::Loaded;
use crate::method::Backend;
use crate::{Error, Result, Size};
use limpid_kernel_render::neural::{Convolve, Into, Source};
use limpid_plan::{Element, Plan, Role, Slot, SlotId};
use limpid_reference::definition::network::BLOCK;
use std::sync::Arc;

/// A plan under construction.
pub(crate) struct Build {
    pub plan: Plan,
    pub on: Backend,
    /// Whether maps and guides are in half precision.
    pub half: bool,
    /// Whether matrix units are used.
    pub matrices: bool,
    pub loaded: Arc<Loaded>,
    /// Which of the mirrored and turned networks is used.
    pub turn: usize,
}

impl Build {
    /// Whether four planes are packed into one.
    pub(crate) fn is_gpu(&self) -> bool {
        self.on == Backend::Gpu
    }

    /// Planes of this size; on a GPU four are packed into one.
    pub(crate) fn planes(
        &mut self,
        name: String,
        size: Size,
        planes: usize,
        element: Element,
    ) -> SlotId {
        let slot = match self.on {
            Backend::Cpu => Slot::new(name, Role::Transient, size, planes),
            Backend::Gpu => {
                Slot::new(name, Role::Transient, size, planes.div_ceil(4)).element(element)
            }
        };
        self.plan.slot(slot)
    }

    /// A feature map that the network reads or writes.
    pub(crate) fn map(&mut self, name: &str, size: Size, planes: usize) -> SlotId {
        let element = match self.half {
            true => Element::F16x4,
            false => Element::F32x4,
        };
        self.planes(name.into(), size, planes, element)
    }

    /// Adds a convolution of the network by its name. `scale` is the scale of its output.
    fn convolve(
        &mut self,
        name: &str,
        source: Source,
        into: Into,
        scale: usize,
        reads: &[SlotId],
    ) -> Result<Vec<SlotId>> {
        let shapes = self.loaded.form().shapes();
        let Some(index) = shapes.iter().position(|s| s.0 == name) else {
            let known = shapes.iter().map(|s| s.0);
            return Err(Error::unknown("layer of the network", name, known));
        };
        let (_, inputs, outputs, side) = shapes[index];
        let kernel = Convolve {
            inputs,
            outputs,
            side,
            source,
            into,
            scale,
            matrices: self.matrices,
        };
        let make = match self.on {
            Backend::Cpu => Convolve::table_cpu,
            Backend::Gpu => Convolve::table_gpu,
        };
        let table = self
            .loaded
            .table(self.turn, self.on, index, |from| make(&kernel, from));
        let mut slots = reads.to_vec();
        slots.push(
            self.plan
                .data(format!("weights of {name}"), table.len(), table),
        );
        if into == Into::Guides {
            let made = self.guides(outputs);
            self.plan.pass(kernel, slots, made);
            return Ok(made.to_vec());
        }
        let size = self.plan.size();
        let side = |n: usize| n.next_multiple_of(BLOCK) / scale;
        let size = Size::new(side(size.width), side(size.height));
        let made = self.map(name, size, outputs);
        self.plan.pass(kernel, slots, [made]);
        Ok(vec![made])
    }

    /// Adds the network. Returns the slots of its outputs: guides and other planes of the image, or a map.
    pub(crate) fn network(&mut self, inputs: SlotId, into: Into) -> Result<Vec<SlotId>> {
        use Into::{Plain as Raw, Rectified};
        use Source::{Blocks, Joined, Plain, Pooled};
        // Whether the middle levels have a second convolution.
        let deep = self.loaded.form().deep;
        let mut on = |name: &str, source: Source, into: Into, scale: usize, reads: &[&[SlotId]]| {
            self.convolve(name, source, into, scale, &reads.concat())
        };
        let e1 = on("enc1a", Blocks, Rectified, 2, &[&[inputs]])?;
        let e1 = on("enc1b", Plain, Rectified, 2, &[&e1])?;
        let e2 = on("enc2", Pooled, Rectified, 4, &[&e1])?;
        let e2 = match deep {
            true => on("enc2b", Plain, Rectified, 4, &[&e2])?,
            false => e2,
        };
        let e3 = on("enc3", Pooled, Rectified, 8, &[&e2])?;
        let e3 = match deep {
            true => on("enc3b", Plain, Rectified, 8, &[&e3])?,
            false => e3,
        };
        let d = on("enc4", Pooled, Rectified, 16, &[&e3])?;
        let d = on("mid", Plain, Rectified, 16, &[&d])?;
        let d = on("up3", Plain, Raw, 16, &[&d])?;
        let d = on("dec3a", Joined, Rectified, 8, &[&e3, &d])?;
        let d = on("dec3b", Plain, Rectified, 8, &[&d])?;
        let d = on("up2", Plain, Raw, 8, &[&d])?;
        let d = on("dec2a", Joined, Rectified, 4, &[&e2, &d])?;
        let d = on("dec2b", Plain, Rectified, 4, &[&d])?;
        let d = on("up1", Plain, Raw, 4, &[&d])?;
        let d = on("dec1a", Joined, Rectified, 2, &[&e1, &d])?;
        let d = on("dec1b", Plain, Rectified, 2, &[&d])?;
        let scale = if into == Into::Guides { 1 } else { 2 };
        on("out", Plain, into, scale, &[&d])
    }
}
