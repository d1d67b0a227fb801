//! The wavelet transform, one level: rows and columns in one pass over memory.

pub mod cpu;
mod driver;
mod emit;
mod forward;
mod four;
mod fragment;
mod general;
mod interleave;
mod inverse;
mod lift;
mod mapping;
mod pieces;
mod pipeline;
mod pipeline_cpu;
mod plane;
mod refine;
mod rows;
mod share;
mod stage;
mod streamed;
mod strips;
#[cfg(test)]
mod tests;
mod tile;
#[cfg(test)]
mod whole;

pub use fragment::{QuadPass, Quads};
pub use interleave::Interleave;
pub use mapping::{GroupShape, Mapping, StripTile};
pub use pipeline::{AxisPass, PassAxis};
pub use refine::{mended, remainder};

use crate::own::own;
use general::General;
use limpid_core::{Result, Size};
use limpid_plan::params;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, Slot};
use limpid_wavelet::{Direction, Lifting, Normalisation, SchemeName, Taps};
use pieces::Threading;
use plane::{Bands, Plane, halves};
use std::sync::Arc;
use streamed::Streamed;

/// Soft thresholds of the detail bands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limits {
    /// Nothing.
    None,
    /// Forward: thresholds of `HL`, `LH` and `HH`, applied before they are stored.
    Fixed([f32; 3]),
    /// Inverse: thresholds in a slot that is read last, one per band; those of this level start at `band`.
    Slot {
        /// The index of `HL`; `LH` and `HH` follow.
        band: usize,
    },
}

/// One level of the transform, mirrored at the borders.
///
/// The forward transform reads an image and writes the detail bands to the packed image, and `LL` there too (`deepest`) or to a
/// second slot. The inverse reads the packed image, and `LL` from a second slot unless it is `deepest`.
#[derive(Debug, Clone)]
pub struct Level {
    lifting: Lifting,
    fast: Option<Streamed>,
    general: General,
    /// Forward or inverse.
    pub direction: Direction,
    /// How the GPU groups its operations.
    pub scheme: SchemeName,
    /// How the GPU exchanges samples.
    pub mapping: Mapping,
    /// The soft thresholds.
    pub limits: Limits,
    /// Size of the image that this level transforms.
    pub size: Size,
    /// Whether `LL` stays in the packed image.
    pub deepest: bool,
    /// The scheme's matrices, if the CPU uses them.
    strips: Option<Arc<strips::Steps>>,
}

params! {
    /// Sizes of the packed image, of the level's image and of its low band.
    struct Params {
        frame_width: u32, frame_height: u32, width: u32, height: u32, low_width: u32, low_height: u32,
        band: u32, bands: u32, limit_hl: f32, limit_lh: f32, limit_hh: f32, rounds: u32,
    }
}

/// Whether every step preserves the symmetry of a mirrored signal, so that mirroring the image is equivalent to mirroring in
/// every step.
pub fn keeps_mirrored(lifting: &Lifting) -> bool {
    let symmetric = |taps: &Taps, twice_centre: i32| {
        taps.iter().all(|(k, v)| {
            let other = taps.iter().find(|(j, _)| *j == twice_centre - k);
            v == 0.0 || other.is_some_and(|(_, w)| (v - w).abs() <= 1e-9 * v.abs())
        })
    };
    (lifting.pairs.iter()).all(|p| symmetric(&p.predict, 1) && symmetric(&p.update, -1))
}

impl Level {
    /// A level of a wavelet's lifting.
    pub fn new(
        lifting: &Lifting,
        normalisation: Normalisation,
        direction: Direction,
        scheme: SchemeName,
    ) -> Self {
        Self {
            fast: Streamed::new(lifting, normalisation),
            general: General::new(lifting, normalisation.factors()),
            lifting: Lifting {
                low_scale: lifting.low_scale * normalisation.factors().0,
                high_scale: lifting.high_scale * normalisation.factors().1,
                ..lifting.clone()
            },
            direction,
            scheme,
            mapping: Mapping::Single,
            limits: Limits::None,
            size: Size::new(1, 1),
            deepest: true,
            strips: None,
        }
    }

    /// The level for an image of this size.
    #[must_use]
    pub fn sized(mut self, size: Size, deepest: bool) -> Self {
        (self.size, self.deepest) = (size, deepest);
        self
    }

    /// The level with a different mapping.
    #[must_use]
    pub fn mapped(mut self, mapping: Mapping) -> Self {
        self.mapping = mapping;
        self.strips = match mapping {
            Mapping::Strips(tile) => Some(Arc::new(strips::Steps::new(&self, tile))),
            _ => None,
        };
        self
    }

    /// The level with soft thresholds.
    #[must_use]
    pub fn limited(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    fn fixed_limits(&self) -> [f32; 3] {
        match self.limits {
            Limits::Fixed(limits) => limits,
            Limits::None | Limits::Slot { .. } => [0.0; 3],
        }
    }

    /// Factors of `LL`, of `HL` and `LH`, and of `HH`.
    fn scales(&self) -> [f32; 3] {
        let (l, h) = (self.lifting.low_scale, self.lifting.high_scale);
        [l * l, l * h, h * h].map(|v| v as f32)
    }

    fn params(&self, packed: Size) -> Params {
        let (lw, lh) = (halves(self.size.width).0, halves(self.size.height).0);
        let [hl, lh_limit, hh] = self.fixed_limits();
        Params {
            frame_width: packed.width as u32,
            frame_height: packed.height as u32,
            width: self.size.width as u32,
            height: self.size.height as u32,
            low_width: lw as u32,
            low_height: lh as u32,
            band: 0,
            bands: 0,
            limit_hl: hl,
            limit_lh: lh_limit,
            limit_hh: hh,
            rounds: 1,
        }
    }

    /// The packed image with this many planes, and the low band if it is stored apart.
    fn coefficients(&self, packed: &Slot, planes: usize) -> Vec<Need> {
        let fits = self.size.width <= packed.size.width && self.size.height <= packed.size.height;
        let size = if fits { packed.size } else { self.size };
        let mut needs = vec![Need::planes(size, planes)];
        if !self.deepest {
            let low = Size::new(halves(self.size.width).0, halves(self.size.height).0);
            needs.push(Need::planes(low, planes));
        }
        needs
    }

    /// The thresholds, if they are read from a slot: one row for each plane.
    fn limits_need(&self, pass: &PassSlots<'_>, planes: usize) -> Option<Need> {
        let Limits::Slot { band } = self.limits else {
            return None;
        };
        let width = pass.reads.last().map_or(0, |slot| slot.size.width);
        let short = width < band + 3;
        Some(Need::values(if short {
            usize::MAX
        } else {
            width * planes
        }))
    }

    fn fast(&self) -> Option<&Streamed> {
        self.fast.as_ref().filter(|f| f.takes(self.size, 1))
    }
}

impl Kernel for Level {
    fn name(&self) -> &'static str {
        match self.direction {
            Direction::Forward => "dwt",
            Direction::Inverse => "idwt",
            Direction::Adjoint => "dwt-adjoint",
        }
    }

    fn contract(&self) -> Contract {
        let other = usize::from(!self.deepest);
        let limits = usize::from(matches!(self.limits, Limits::Slot { .. }));
        match self.direction {
            Direction::Inverse => Contract::whole(1 + other + limits, 1),
            Direction::Forward | Direction::Adjoint => Contract::whole(1, 1 + other),
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        match self.direction {
            Direction::Inverse => {
                let planes = pass.reads[0].planes;
                let mut needs = self.coefficients(pass.reads[0], planes);
                needs.extend(self.limits_need(pass, planes));
                needs.push(Need::planes(self.size, planes));
                needs
            }
            Direction::Forward | Direction::Adjoint => {
                let planes = pass.writes[0].planes;
                let mut needs = vec![Need::planes(self.size, planes)];
                needs.extend(self.coefficients(pass.writes[0], planes));
                needs
            }
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let layout = Threading::new(job.level, threads());
        for plane in 0..job.writes[0].planes() {
            if self.direction == Direction::Inverse {
                self.back(job, plane, &layout);
            } else {
                self.there(job, plane, &layout);
            }
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let packed = match self.direction {
            Direction::Inverse => pass.reads[0],
            Direction::Forward | Direction::Adjoint => pass.writes[0],
        };
        let source = (pass.reads[0].backing, packed.size.width);
        let (text, region) = emit::kernel(self, &pass.target, source)?;
        let mut params = self.params(packed.size);
        if let (Limits::Slot { band }, Some(limits)) = (self.limits, pass.reads.last()) {
            (params.band, params.bands) = (band as u32, limits.size.width as u32);
        }
        params.rounds = region.rounds() as u32;
        let (tw, th) = region.tile().unwrap_or((1, 1));
        let groups = [
            params.low_width.div_ceil(tw as u32),
            params.low_height.div_ceil((th * region.regions()) as u32),
            packed.planes as u32,
        ];
        Ok(own(
            self,
            pass,
            Dispatch::compute(text.text(), &params, groups),
        ))
    }

    fn scratch(&self, _size: Size) -> usize {
        if let Some(steps) = &self.strips {
            return steps.scratch(cores());
        }
        match self.fast() {
            Some(_) => pieces::state_words(
                self.size.width,
                &Threading::new(fearless_simd::Level::baseline(), cores()),
            ),
            None => self.general.scratch_words(self.size.width, cores()),
        }
    }
}

impl Level {
    fn there(&self, job: &mut Job<'_>, plane: usize, layout: &Threading) {
        let first = job.reads[0].plane(0);
        // Texels hold the samples of all planes side by side.
        let texels: Vec<f32>;
        let data: &[f32] = if first.len() == 4 * self.size.pixels() {
            texels = first.iter().skip(plane).step_by(4).copied().collect();
            &texels
        } else {
            job.reads[0].plane(plane)
        };
        let src = Plane {
            data,
            stride: self.size.width,
            size: self.size,
        };
        let limits = self.fixed_limits();
        let stride = job.writes[0].size().width;
        let [packed, rest @ ..] = &mut job.writes[..] else {
            return;
        };
        let low = rest.first_mut().map(|low| low.band(plane));
        let packed = (packed.band(plane), stride);
        if let Some(steps) = &self.strips {
            let how = (job.level, threads());
            return steps.forward(self, how, &src, (packed, low), job.scratch);
        }
        match self.fast() {
            Some(fast) => {
                let low = low.map(|data| (data, halves(self.size.width).0));
                let state = state(job.scratch, self.size, layout);
                cpu::forward_level((fast, limits), layout, &src, packed, low, state);
            }
            None => {
                let work = &mut job.scratch[..];
                (self.general).forward((layout, limits), &src, packed, low, work);
            }
        }
    }

    fn back(&self, job: &mut Job<'_>, plane: usize, layout: &Threading) {
        let (lw, lh) = (halves(self.size.width).0, halves(self.size.height).0);
        let packed = job.reads[0].plane(plane);
        let stride = job.reads[0].size().width;
        let (data, ll_stride) = match job.reads.get(1).filter(|_| !self.deepest) {
            Some(low) => (low.plane(plane), lw),
            None => (packed, stride),
        };
        let limits = match (self.limits, job.reads.last()) {
            (Limits::Slot { band }, Some(slot)) => {
                let all = slot.plane(plane);
                [0, 1, 2].map(|i| all.get(band + i).copied().unwrap_or(0.0))
            }
            _ => [0.0; 3],
        };
        let bands = Bands {
            ll: Plane {
                data,
                stride: ll_stride,
                size: Size::new(lw, lh),
            },
            packed,
            stride,
            size: self.size,
            limits,
        };
        let out = (job.writes[0].band(plane), self.size.width);
        if let Some(steps) = &self.strips {
            let how = (job.level, threads());
            return steps.inverse(self, how, &bands, out, job.scratch);
        }
        match self.fast() {
            Some(fast) => {
                let state = state(job.scratch, self.size, layout);
                cpu::inverse_level(fast, layout, &bands, out, state);
            }
            None => self.general.inverse(layout, &bands, out, job.scratch),
        }
    }
}

/// Threads that share a level.
fn threads() -> usize {
    rayon::current_num_threads().min(cores())
}

/// Maximum number of threads for which scratch memory is allocated.
fn cores() -> usize {
    // Querying the system takes as long as a small image.
    static CORES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *CORES.get_or_init(|| {
        let all = std::thread::available_parallelism();
        all.map_or(1, usize::from).min(64)
    })
}

fn state<'a>(scratch: &'a mut [f32], size: Size, layout: &Threading) -> &'a mut [f32] {
    let words = pieces::state_words(size.width, layout).min(scratch.len());
    &mut scratch[..words]
}
