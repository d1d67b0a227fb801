//! Converts layers to the slots that filters work on, and back.
//!
//! On the CPU such a slot is planar: the layers' planes one after the other. On the GPU it is planes of four channels,
//! which are read with one load; features may be packed further ([`Packing`]).

mod cpu;
mod emit;
mod surface;

pub use surface::{PackSurface, unpacked};

use limpid_core::Result;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Site};
use limpid_plan::{Layout, Phases, Plan, SlotId};

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

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::pack(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(emit::pack(self, site))
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

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::unpack(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(emit::unpack(self, site))
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

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::features(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(emit::features(self, site))
    }
}
