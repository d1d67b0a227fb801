//! One step of dual-domain denoising: bilateral weights, local spectrum, shrinkage.
//!
//! [`DualDomain`] reads the guide and the noisy image, both after the colour transform of [`point`], and writes the next guide.
//! Pixels beyond the border are mirrored, with the edge pixel repeated.

pub mod anscombe;
mod cpu;
mod gpu;
mod panel;
pub mod point;
mod table;

use crate::own::own;
use limpid_core::{Error, Result, Size};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};

/// The dual-domain filter (Vicini 2015, Eq. 4.2 to 4.10, and Knaus and Zwicker 2013).
#[derive(Debug, Clone, PartialEq)]
pub struct DualDomain {
    /// Pixels to each side of the window; at least 1.
    pub radius: usize,
    /// Scale of squared distances in the spatial kernel.
    pub space: f32,
    /// Scale of squared differences in the range kernel.
    pub range: f32,
    /// Scale of squared Fourier coefficients.
    pub shrink: f32,
    /// Power of the cosine in both kernels (2015); exponentials if `None` (2013).
    pub power: Option<u32>,
    /// How far the estimates are trusted, 0 … 1.
    pub confidence: f32,
    /// Power of the noise at the frequencies 0 … radius along x and y, row by row, for each plane; white when empty.
    pub spectrum: Vec<f32>,
}

impl Kernel for DualDomain {
    fn name(&self) -> &'static str {
        "dual-domain"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, self.radius)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let slot = pass.reads[0];
        [Need::planes(slot.size, slot.planes); 3].to_vec()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::filter(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let (planes, side) = (pass.reads[0].planes, self.radius + 1);
        let short = !self.spectrum.is_empty() && self.spectrum.len() < planes * side * side;
        if planes > 3 || short {
            return Err(Error::unsupported(
                "the dual-domain filter takes up to 3 planes, and noise for each of them",
            ));
        }
        Ok(own(self, pass, gpu::dispatch(self, pass)))
    }

    fn scratch(&self, _size: Size) -> usize {
        cpu::scratch(self.radius)
    }

    fn work(&self) -> f32 {
        // Matrix products dominate; the colour transforms are negligible.
        (self.radius as f32 + 1.0).powi(3)
    }
}
