//! Wiener filtering of blocks by a first estimate.
//!
//! The definition is [`crate::definition::wiener`]. Reads the noisy image, the estimate and, if the noise is not the same
//! everywhere, its variance: one image with these parts, or two or three.

mod cpu;
mod gpu;

use super::{Contract, Dispatch, Job, Kernel, Site};
use crate::definition::wiener::{SIDE, Settings};
use crate::{Result, Size};

/// Filters by an estimate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wiener {
    /// The numbers of the filter.
    pub by: Settings,
    /// Whether all is in the planes of one slot: estimate, noisy image, variance. Otherwise the noisy image and the
    /// estimate are slots, and the noise is the same everywhere.
    pub joined: bool,
}

impl Kernel for Wiener {
    fn name(&self) -> &'static str {
        "wiener"
    }

    fn contract(&self) -> Contract {
        let reads = if self.joined { 1 } else { 2 };
        Contract::gather(reads, 1, Some(SIDE - 1))
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::wiener(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::wiener(self, site))
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(size)
    }

    fn work(&self) -> f32 {
        4.0
    }
}
