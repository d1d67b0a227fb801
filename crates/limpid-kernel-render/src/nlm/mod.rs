//! Non-local means with colour and feature weights: the `FEATUREFILTER` of Vicini 2015.
//!
//! [`Nlm`] filters one slot with weights from another. For each pair of opposite offsets it computes pixel distances, box sums,
//! exponentials and weighted sums while holding only a few rows (CPU) or a tile (GPU), so that no distance is computed twice
//! and no window of weights is stored (section 3.6).

mod full;
mod gpu;
mod pair;
mod plain;
mod rows;

use crate::own::own;
use limpid_core::{Result, Size};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};

/// Keeps denominators above zero where there is no noise (Eq. 3.7, 3.10).
pub const EPSILON: f32 = 1e-10;
/// `d²max` of section 3.2.4.
pub const SYMMETRIC_LIMIT: f32 = 25.0;
/// Step of the finite difference as a share of the value (section 3.4.2).
pub const STEP: f32 = 0.01;
/// Smallest value from which the relative step is computed.
pub const STEP_FLOOR: f32 = 1e-3;

/// The variance of the guide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Uniform.
    Uniform(f32),
    /// A slot with the guide's planes.
    Pixel,
}

/// One feature among the planes of the feature slots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Feature {
    /// Number of planes.
    pub planes: usize,
    /// `τ_j` of section 3.3.2, scaled by the feature's range.
    pub tau: f32,
}

/// Weights from features: three slots with the planes of all features, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// `k_f`.
    pub k: f32,
    /// The features in order.
    pub list: Vec<Feature>,
}

/// The filter. Reads: guide; its variance, if per pixel; the payload, if not the guide; features, their variance, and the
/// larger of variance and contrast. Writes: the filtered slot; with `risk` the SURE and the slope (2 planes); with `residual`
/// the remaining variance.
#[derive(Debug, Clone, PartialEq)]
pub struct Nlm {
    /// Radius of the window.
    pub radius: usize,
    /// Radius of patches.
    pub patch: usize,
    /// `k_c` of the colour weights; `None` if colour is not used.
    pub color: Option<f32>,
    /// The guide's variance.
    pub noise: Noise,
    /// For one of each two opposite offsets, row by row starting right of the centre, the decorrelation of two pixels' noise: 1
    /// minus its correlation. Fully decorrelated if empty. For uniform noise.
    pub apart: Vec<f32>,
    /// Weights from features.
    pub features: Option<Features>,
    /// Whether weights are averaged over patches (section 3.2.3).
    pub patchwise: bool,
    /// Whether opposite pixels may be weighted by their mean (section 3.2.4).
    pub symmetric: bool,
    /// Planes of the guide.
    pub channels: usize,
    /// Planes of the slot that is filtered, if it is not the guide; with `risk` the first ones are the guide's.
    pub payload: Option<usize>,
    /// Whether Stein's risk estimate and the slope are written.
    pub risk: bool,
    /// Whether the remaining variance is written: `Σ w² Var / (Σ w)²`. For variance per pixel.
    pub residual: bool,
    /// Whether the CPU may use each weight twice if the filter is plain, `w(p, q) = w(q, p)`.
    pub paired: bool,
    /// Maximum number of rows of a tile on the GPU; `None` for the device's limits.
    pub tile: Option<u32>,
}

impl Nlm {
    /// Non-local means of a slot by itself.
    pub fn new(radius: usize, patch: usize, k: f32, noise: Noise) -> Self {
        Self {
            radius,
            patch,
            color: Some(k),
            noise,
            channels: 3,
            apart: Vec::new(),
            features: None,
            patchwise: false,
            symmetric: false,
            payload: None,
            risk: false,
            residual: false,
            paired: true,
            tile: None,
        }
    }

    /// The decorrelation of the noise of two pixels at an offset.
    fn apart(&self, dx: i64, dy: i64) -> f32 {
        apart(&self.apart, self.radius, dx, dy)
    }

    /// How far box sums reach beyond a pixel.
    fn margin(&self) -> usize {
        match self.color {
            Some(_) => self.patch * (1 + usize::from(self.patchwise)),
            None => 0,
        }
    }

    /// The indices of the reads: variance, payload, first feature slot.
    fn places(&self) -> (Option<usize>, usize, usize) {
        let pixel = usize::from(self.noise == Noise::Pixel);
        let payload = usize::from(self.payload.is_some());
        (
            (pixel == 1).then_some(1),
            payload * (1 + pixel),
            1 + pixel + payload,
        )
    }

    /// The weights of the plain filter, if the fast CPU body supports it.
    fn plain(&self) -> Option<plain::Weights<'_>> {
        match (self.color, self.noise) {
            (Some(k), Noise::Uniform(variance))
                if self.paired
                    && self.payload.is_none()
                    && !self.patchwise
                    && !self.symmetric
                    && !self.risk
                    && self.features.is_none() =>
            {
                let over = EPSILON + 2.0 * k * k * variance;
                Some(plain::Weights {
                    radius: self.radius,
                    patch: self.patch,
                    bias: 2.0 * variance / over,
                    scale: 1.0 / over,
                    apart: &self.apart,
                })
            }
            _ => None,
        }
    }
}

/// The entry in a list of half the offsets of a window; 1 if the list is empty.
fn apart(list: &[f32], radius: usize, dx: i64, dy: i64) -> f32 {
    let place = dy * (2 * radius as i64 + 1) + dx - 1;
    list.get(place as usize).copied().unwrap_or(1.0)
}

impl Kernel for Nlm {
    fn name(&self) -> &'static str {
        match self.features {
            Some(_) => "nlm-features",
            None => "nlm",
        }
    }

    fn contract(&self) -> Contract {
        let reads = self.places().2 + 3 * usize::from(self.features.is_some());
        let writes = 1 + usize::from(self.risk) + usize::from(self.residual);
        let reach = self.radius + self.margin();
        // Rows are summed in groups, which may start before a band and end after it.
        let group = self.plain().map_or(0, |_| plain::GROUP - 1);
        Contract {
            reach: Some(reach),
            ..Contract::rows(reads, writes, reach + group)
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let planes = |count: usize| Need::planes(pass.writes[0].size, count);
        let mut needs = vec![planes(self.channels)];
        needs.extend((self.noise == Noise::Pixel).then_some(planes(self.channels)));
        needs.extend(self.payload.map(planes));
        if let Some(features) = &self.features {
            let count = features.list.iter().map(|f| f.planes).sum();
            needs.extend([planes(count); 3]);
        }
        needs.push(planes(self.payload.unwrap_or(self.channels)));
        needs.extend(self.risk.then_some(planes(2)));
        needs.extend(self.residual.then_some(planes(self.channels)));
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        match self.plain() {
            Some(weights) if matches!(self.channels, 1 | 3) => plain::run(job, weights),
            _ => full::run(job, self),
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::dispatch(self, pass)?))
    }

    fn scratch(&self, _size: Size) -> usize {
        let plain = self.plain().map_or(0, |w| plain::scratch(w, 3));
        plain.max(full::scratch(self))
    }

    fn work(&self) -> f32 {
        (2 * self.radius + 1).pow(2) as f32
    }
}
