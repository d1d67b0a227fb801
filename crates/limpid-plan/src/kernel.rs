//! The interface of kernels: one operation, a contract and two bodies.

use crate::{Dispatch, Job, Need, PassSlots};
use limpid_core::{Result, Size};
use std::fmt;

/// The part of its slots that a kernel reads to compute a band of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The same rows of its inputs and `halo` rows above and below.
    Rows {
        /// Rows above and below.
        halo: usize,
    },
    /// Any rows of its inputs: layout changes, reprojection.
    Gather,
    /// Everything at once, called once: global sums, solves.
    Whole,
}

/// The contract of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contract {
    /// Number of slots it reads.
    pub reads: usize,
    /// Number of slots it writes.
    pub writes: usize,
    /// The part that it reads.
    pub scope: Scope,
    /// How many pixels away an output may depend on an input, in original pixels; `None` for the whole image.
    pub reach: Option<usize>,
    /// Whether written slots are also read (updated in place).
    pub updates: bool,
}

impl Contract {
    /// Reads the rows it writes and `halo` more on each side, and as far to the left and right.
    pub const fn rows(reads: usize, writes: usize, halo: usize) -> Self {
        Self {
            reads,
            writes,
            scope: Scope::Rows { halo },
            reach: Some(halo),
            updates: false,
        }
    }

    /// Reads anywhere within `reach` original pixels.
    pub const fn gather(reads: usize, writes: usize, reach: Option<usize>) -> Self {
        Self {
            reads,
            writes,
            scope: Scope::Gather,
            reach,
            updates: false,
        }
    }

    /// Works on the whole image at once.
    pub const fn whole(reads: usize, writes: usize) -> Self {
        Self {
            reads,
            writes,
            scope: Scope::Whole,
            reach: None,
            updates: false,
        }
    }

    /// The same contract, updating the written slots in place.
    #[must_use]
    pub const fn updating(mut self) -> Self {
        self.updates = true;
        self
    }
}

/// One operation: a contract and its bodies.
pub trait Kernel: fmt::Debug + Send + Sync {
    /// A short name: `gaussian`, `atrous`.
    fn name(&self) -> &'static str;

    /// Its contract.
    fn contract(&self) -> Contract;

    /// What it relies on of each slot, those that are read first. A plan is valid only if its slots have all of it. A kernel
    /// that returns nothing works on any slots, and its shader keeps its runtime checks.
    fn needs(&self, _pass: &PassSlots<'_>) -> Vec<Need> {
        Vec::new()
    }

    /// The CPU body: computes the rows `job.rows` of the written slots. It is not called if [`Kernel::gpu_only`] is true.
    fn cpu(&self, _job: &mut Job<'_>) {
        debug_assert!(self.gpu_only(), "{} has no body for the CPU", self.name());
    }

    /// Whether there is no CPU body, for example for kernels on textures. The CPU refuses plans with such kernels.
    fn gpu_only(&self) -> bool {
        false
    }

    /// The GPU body: the WGSL text for slots of these sizes on this device.
    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch>;

    /// Whether the GPU body also accepts a texture for the slot with index `read`: the layer's channels in texels.
    fn reads_texture(&self, _read: usize) -> bool {
        false
    }

    /// Words of scratch memory that the CPU body needs for one band of images of this size.
    fn scratch(&self, _size: Size) -> usize {
        0
    }

    /// Work per pixel relative to the other kernels of a plan, for the progress.
    fn work(&self) -> f32 {
        1.0
    }
}
