//! One level of the filter with learned guides.

mod cpu;
mod gpu;

use crate::own::own;
use limpid_core::{Result, Size};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::neural::TAPS;

/// Weights besides the guides: brightness and distrust, by the network planes that control them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guided {
    /// Precision of the brightness.
    pub sharpness: usize,
    /// Distrust in a tap.
    pub distrust: usize,
}

/// One level. Reads the payload, the guides and the other planes of the network.
///
/// With brightness, the payload is colour, then its brightness, which is recomputed, then all layers filtered along with it; on
/// a GPU four planes are packed into one. Without, it is three planes.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Distance between taps.
    pub step: usize,
    /// The first plane of the guides.
    pub first: usize,
    /// The plane with the precision of the guides.
    pub precision: usize,
    /// The other weights.
    pub guided: Option<Guided>,
    /// Planes of the payload on the CPU.
    pub planes: usize,
    /// Whether a GPU compares guides in half precision, if supported.
    pub native: bool,
}

impl Kernel for Level {
    fn name(&self) -> &'static str {
        "neural-level"
    }

    fn contract(&self) -> Contract {
        Contract::rows(3, 1, TAPS.len() / 2 * self.step)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        gpu::needs(self, pass)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::run(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::dispatch(self, pass)?))
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(self, size.width)
    }
}
