//! Local linear fits: colour as a function of features and position, weighted by patch similarity.
//!
//! [`LocalRegression`] is the expensive part. For each tap it computes the distance of two patches once, for all candidates,
//! and accumulates the normal equations of each; these are solved in place, so that neither weights nor sums leave the block
//! (CPU) or the registers (GPU). The other kernels evaluate and blend its results.

mod cpu;
mod error;
mod gpu;
mod moments;
mod region;
mod solve;
mod weights;

pub use error::{balance, choose, contest, errors, mix, total};

use crate::own::own;
use limpid_core::{Result, Size};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::nfor::FitSettings;

/// Maximum number of features: albedo, normal, depth, position.
pub const FEATURES: usize = 10;

/// A fit. Reads: guide, its variance, classes, data, features if present. Writes: the fitted data, all planes for each `k`.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalRegression {
    /// Taps, patches, ridges.
    pub settings: FitSettings,
    /// Tolerated difference of patches, in standard deviations: one candidate each.
    pub k: Vec<f32>,
    /// If set, only pixels of this parity of the checkerboard count.
    pub parity: Option<usize>,
    /// Side of its squares, a power of two.
    pub cell: usize,
    /// Planes of the guide.
    pub channels: usize,
    /// Planes of the data.
    pub data: usize,
    /// Planes of the features.
    pub features: usize,
    /// How many of them are compared: albedo and normal.
    pub sharp: usize,
}

impl LocalRegression {
    fn reach(&self) -> usize {
        self.settings.window.radius + self.settings.patch
    }

    /// The first column of a row of taps; the others follow at the window's stride.
    fn first(&self, dy: i64) -> i64 {
        let (r, stride) = (
            self.settings.window.radius as i64,
            self.settings.window.stride as i64,
        );
        -r + (r - 2 * dy).rem_euclid(stride)
    }

    /// The offsets along a row of taps.
    fn row(&self, dy: i64) -> impl Iterator<Item = i64> + use<> {
        let r = self.settings.window.radius as i64;
        (self.first(dy)..=r).step_by(self.settings.window.stride)
    }

    /// Number of taps.
    fn taps(&self) -> usize {
        let r = self.settings.window.radius as i64;
        (-r..=r).map(|dy| self.row(dy).count()).sum()
    }
}

impl Kernel for LocalRegression {
    fn name(&self) -> &'static str {
        "fit"
    }

    fn contract(&self) -> Contract {
        Contract::rows(4 + usize::from(self.features > 0), 1, self.reach())
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let planes = |count: usize| Need::planes(pass.writes[0].size, count);
        let mut needs = vec![
            planes(self.channels),
            planes(self.channels),
            planes(1),
            planes(self.data),
        ];
        needs.extend((self.features > 0).then_some(planes(self.features)));
        needs.push(planes(self.k.len() * self.data));
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::run(job, self);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::dispatch(self, pass)?))
    }

    fn scratch(&self, _size: Size) -> usize {
        cpu::scratch(self)
    }

    fn work(&self) -> f32 {
        (self.taps() * (1 + self.k.len())) as f32
    }
}
