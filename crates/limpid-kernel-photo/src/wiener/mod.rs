//! Wiener filtering of blocks with a first estimate.
//!
//! The definition is [`limpid_reference::definition::wiener`]. Reads the noisy image, the estimate and, if the noise is not uniform, its
//! variance: as one joined image, or as two or three images.

mod cpu;
mod gpu;

use limpid_core::{Result, Size};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Site};
use limpid_reference::{definition::wiener::SIDE, definition::wiener::Settings};

/// Filters with an estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct Wiener {
    /// The parameters of the filter.
    pub by: Settings,
    /// Whether all inputs are planes of one slot: estimate, noisy image, variance. Otherwise the noisy image and the estimate
    /// are separate slots, and the noise is uniform.
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
