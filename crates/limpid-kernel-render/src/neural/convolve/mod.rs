//! One convolution of the network, fused with the operation before it (blocks of pixels, pooling, or the sum of two maps) and
//! after it (the leaky rectifier, or the upsampling to full size).
//!
//! On the CPU maps are planar; on a GPU four planes are packed into one. Weights are a table in the order of the loops.

mod cpu;
#[cfg(target_arch = "x86_64")]
mod early;
mod gpu;
mod matrices;
mod product;
mod winograd;

use crate::own::own;
use limpid_core::{Result, Size};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::network::BLOCK;
use limpid_reference::definition::network::Convolution;

/// The input of the convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A map.
    Plain,
    /// The maximum of each 2×2 pixels of a map of twice the size.
    Pooled,
    /// A map plus a second one of half the size, upsampled by repetition.
    Joined,
    /// Blocks of 2×2 image pixels, as planes.
    Blocks,
}

/// The output of the convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Into {
    /// A map.
    Plain,
    /// A map after the leaky rectifier.
    Rectified,
    /// Full-size planes in the ranges that the filter expects: guides, and in a second slot all others. Of kernels of 1×1.
    Guides,
}

/// One convolution. The table of weights is read last.
#[derive(Debug, Clone, PartialEq)]
pub struct Convolve {
    /// Number of input planes.
    pub inputs: usize,
    /// Number of output planes.
    pub outputs: usize,
    /// Side of the kernel: 1 or 3.
    pub side: usize,
    /// The input; of kernels of 1×1 a map.
    pub source: Source,
    /// The output.
    pub into: Into,
    /// Scale of the map: image pixels per map pixel.
    pub scale: usize,
    /// Whether a GPU's matrix units are used, if present. Maps are then in half precision.
    pub matrices: bool,
}

/// Outputs that the CPU computes together.
const OUTS: usize = 8;

impl Convolve {
    /// The table of weights for the CPU: biases, then by blocks of outputs the weights of each input. Those of kernels of 3×3 are
    /// transformed, one table of weights after the other.
    pub fn table_cpu(&self, from: &Convolution) -> Vec<u32> {
        if from.side == 3 {
            return winograd::table(from);
        }
        let order = self.order(from);
        let mut all: Vec<f32> = (order.iter())
            .map(|o| o.map_or(0.0, |o| from.bias[o]))
            .collect();
        for block in order.chunks(OUTS) {
            for input in 0..from.inputs {
                let weight = |o: usize| from.weight(o, input, 0);
                all.extend(block.iter().map(|o| o.map_or(0.0, weight)));
            }
        }
        all.into_iter().map(f32::to_bits).collect()
    }

    /// The order in which the CPU computes outputs: those of even image rows before those of odd ones, in whole blocks.
    fn order(&self, from: &Convolution) -> Vec<Option<usize>> {
        let all = 0..from.outputs;
        match self.into {
            Into::Guides => {
                let (mut even, mut odd): (Vec<_>, Vec<_>) = all.map(Some).partition(is_even_row);
                even.resize(self.outputs_at_once(), None);
                odd.resize(self.outputs_at_once(), None);
                even.into_iter().chain(odd).collect()
            }
            _ => all.map(Some).collect(),
        }
    }

    /// Outputs that the CPU computes for a row: all, or those of an image row in whole blocks.
    fn outputs_at_once(&self) -> usize {
        match self.into {
            Into::Guides => (self.outputs / 2).next_multiple_of(OUTS),
            _ => self.outputs,
        }
    }
}

/// Whether an output that is a guide belongs to the first of two image rows.
fn is_even_row(output: &Option<usize>) -> bool {
    output.is_some_and(|o| o % 4 < 2)
}

impl Kernel for Convolve {
    fn name(&self) -> &'static str {
        match self.into {
            Into::Guides => "neural-guides",
            _ => "neural-convolve",
        }
    }

    fn contract(&self) -> Contract {
        let reads = 2 + usize::from(self.source == Source::Joined);
        // Blocks of the coarsest map may start anywhere inside an image block.
        let reach = self.side / 2 * self.scale
            + match self.source {
                Source::Blocks => BLOCK - 1,
                _ => 0,
            };
        let writes = 1 + usize::from(self.into == Into::Guides);
        Contract::gather(reads, writes, Some(reach))
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        gpu::needs(self, pass)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        match self.side {
            3 => winograd::run(self, job),
            _ => cpu::run(self, job),
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::dispatch(self, pass)?))
    }

    fn scratch(&self, _size: Size) -> usize {
        match self.side {
            3 => winograd::scratch(self),
            _ => cpu::scratch(self),
        }
    }
}
