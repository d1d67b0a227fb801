//! Wiener filtering of blocks with a first estimate.
//!
//! The definition is [`limpid_reference::definition::wiener`]. Reads the noisy image, the estimate and, if the noise is not uniform, its
//! variance: as one joined image, or as two or three images.

mod cpu;
mod gpu;

use crate::own::own;
use limpid_core::{Error, Result, Size};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::wiener::{SIDE, Settings};

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

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes);
        let own = Need::planes(size, planes);
        match self.joined {
            true => vec![Need::planes(size, 3 * planes), own],
            false => vec![own; 3],
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::wiener(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        if pass.writes[0].planes > 3 || !(1..=SIDE).contains(&self.by.step) {
            return Err(Error::unsupported(
                "blocks of up to 3 planes are filtered in steps of 1 to 16 pixels",
            ));
        }
        Ok(own(self, pass, gpu::wiener(self, pass)))
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(size)
    }

    fn work(&self) -> f32 {
        4.0
    }
}
