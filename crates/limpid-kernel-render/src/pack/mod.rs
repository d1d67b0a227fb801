//! Converts layers to the slots that filters work on, and back.
//!
//! On the CPU such a slot is planar: the layers' planes one after the other. On the GPU it is planes of four channels,
//! which are read with one load; features may be packed further ([`Packing`]).

mod cpu;
mod emit;
mod surface;

pub use surface::{PackSurface, unpacked};

use crate::own::own;
use limpid_core::{Error, Result};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_plan::{Element, Layout, Phases, Plan, Slot, SlotId};

/// The position of a layer in a packed slot, and its conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PackedAt {
    /// Channels of the layer.
    pub channels: usize,
    /// First plane on the CPU.
    pub plane: usize,
    /// Plane of four channels on the GPU.
    pub vector: usize,
    /// First of the four channels.
    pub lane: usize,
    /// Whether it is divided by albedo when packed and multiplied by it when unpacked.
    pub albedo: bool,
    /// Whether a variance of several channels is packed as the variance of luminance. Unpacking returns one channel, with the
    /// squared luminance of albedo as factor.
    pub variance: bool,
}

impl PackedAt {
    /// Channels of the layer in planar slots.
    fn stored_channels(&self) -> usize {
        if self.variance { 1 } else { self.channels }
    }

    /// The planes that a slot must have.
    fn planes_of(&self, slot: &Slot) -> usize {
        match slot.element {
            Element::F32 => self.plane + self.stored_channels(),
            _ => self.vector + 1,
        }
    }

    /// The albedo, if it is read.
    fn albedo_need(&self, pass: &PassSlots<'_>) -> Option<Need> {
        let albedo = pass.reads.get(1).filter(|_| self.albedo)?;
        Some(Need::planes(pass.writes[0].size, albedo.planes))
    }
}

/// Stores a layer in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    /// The target position.
    pub packed_at: PackedAt,
    /// Whether it is the first layer: the rest of the slot is zeroed. Later ones keep the existing values.
    pub first: bool,
    /// Whether values are rounded to half precision.
    pub half: bool,
}

/// Extracts a layer from a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpack {
    /// The source position.
    pub packed_at: PackedAt,
    /// Whether negative values are clamped to 0 and the factor is used unchanged, however close to black.
    pub exact: bool,
    /// The order of the slot, if it is not rows: pixels are restored to row order.
    pub order: Option<Phases>,
}

impl Unpack {
    /// Unpacks a slot of this plan.
    pub fn from(plan: &Plan, slot: SlotId, packed_at: PackedAt, exact: bool) -> Self {
        let order = match plan.at(slot).layout {
            Layout::Phases(order) => Some(order),
            _ => None,
        };
        Self {
            packed_at,
            exact,
            order,
        }
    }
}

/// How features are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Single precision.
    Full,
    /// 16 bytes per pixel, seven planes: normal and albedo as half floats, and depth in single precision between them. Missing
    /// planes are zero.
    Packed,
}

/// Gathers the planes of features into one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackFeatures {
    /// For each layer read: its first plane in the slot, and its number of planes.
    pub layers: Vec<(usize, usize)>,
    /// How they are stored.
    pub packing: Packing,
}

impl Kernel for Pack {
    fn name(&self) -> &'static str {
        "pack"
    }

    fn contract(&self) -> Contract {
        let contract = Contract::rows(1 + usize::from(self.packed_at.albedo), 1, 0);
        if self.first {
            contract
        } else {
            contract.updating()
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (slot, size) = (pass.writes[0], pass.writes[0].size);
        let mut needs = vec![Need::planes(size, self.packed_at.channels)];
        needs.extend(self.packed_at.albedo_need(pass));
        let least = self.packed_at.planes_of(slot);
        needs.push(Need::planes(size, least.max(slot.planes)).of(slot.element));
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::pack(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        if self.packed_at.variance && pass.writes[0].element == Element::F32 {
            return Err(Error::unsupported("variance is packed with its colour"));
        }
        Ok(own(self, pass, emit::pack(self, pass)))
    }
}

impl Kernel for Unpack {
    fn name(&self) -> &'static str {
        "unpack"
    }

    fn contract(&self) -> Contract {
        let reads = 1 + usize::from(self.packed_at.albedo);
        match self.order {
            Some(_) => Contract::gather(reads, 1, Some(0)),
            None => Contract::rows(reads, 1, 0),
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (slot, size) = (pass.reads[0], pass.writes[0].size);
        let mut needs = vec![Need::planes(size, self.packed_at.planes_of(slot)).of(slot.element)];
        needs.extend(self.packed_at.albedo_need(pass));
        let channels = match slot.element {
            Element::F32 => self.packed_at.stored_channels(),
            _ => pass.writes[0].planes,
        };
        needs.push(Need::planes(size, channels));
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::unpack(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        if self.order.is_some_and(|order| order.level >= 16) {
            return Err(Error::unsupported("an order of more than 15 levels"));
        }
        Ok(own(self, pass, emit::unpack(self, pass)))
    }

    /// Albedo.
    fn reads_texture(&self, read: usize) -> bool {
        read == 1
    }
}

impl Kernel for PackFeatures {
    fn name(&self) -> &'static str {
        "pack-features"
    }

    fn contract(&self) -> Contract {
        Contract::rows(self.layers.len(), 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.writes[0].size;
        let layers = self.layers.iter();
        let mut needs: Vec<Need> = layers
            .map(|(_, planes)| Need::planes(size, *planes))
            .collect();
        let ends = self.layers.iter().map(|(first, planes)| first + planes);
        let end = ends.max().unwrap_or(0);
        needs.push(match (self.packing, pass.writes[0].element) {
            (_, Element::F32) => Need::planes(size, end),
            (Packing::Full, _) => Need::planes(size, end.div_ceil(4)).of(Element::F32x4),
            (Packing::Packed, _) => Need::planes(size, 1).of(Element::U32x4),
        });
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::features(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, emit::features(self, pass)))
    }
}
