//! The wavelet transform, one level: rows and columns in one pass over memory.

pub mod cpu;
mod emit;
mod forward;
mod general;
mod inverse;
mod lift;
mod plane;
mod stream;
#[cfg(test)]
mod tests;

use super::{Contract, Dispatch, Job, Kernel, Site, WgslStruct};
use crate::wavelet::{Direction, Lifting, Normalisation, Scheme, SchemeName, Taps};
use crate::{Error, Result, Size, params};
use cpu::{Layout, TwoTaps};
use general::General;
use plane::{Bands, Plane, halves};

/// One level of the transform, mirrored at the borders.
///
/// Forward it reads an image and writes the detail bands into their places of the packed image, and `LL` there too
/// (`deepest`) or to a second slot. Back it reads the packed image, and `LL` from a second slot unless it is `deepest`.
#[derive(Debug, Clone)]
pub struct Level {
    lifting: Lifting,
    fast: Option<TwoTaps>,
    general: General,
    /// Forward or inverse.
    pub direction: Direction,
    /// How the GPU groups its operations.
    pub scheme: SchemeName,
    /// Size of the image that this level transforms.
    pub size: Size,
    /// Whether `LL` stays in the packed image.
    pub deepest: bool,
}

params! {
    /// Sizes of the packed image, of the level's image and of its low band.
    struct Params {
        frame_width: u32, frame_height: u32, width: u32, height: u32, low_width: u32, low_height: u32,
    }
}

/// Whether a mirrored signal stays mirrored through all steps, so that mirroring the image is mirroring every step.
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
            fast: TwoTaps::new(lifting, normalisation),
            general: General::new(lifting, normalisation.factors()),
            lifting: Lifting {
                low_scale: lifting.low_scale * normalisation.factors().0,
                high_scale: lifting.high_scale * normalisation.factors().1,
                ..lifting.clone()
            },
            direction,
            scheme,
            size: Size::new(1, 1),
            deepest: true,
        }
    }

    /// The level for an image of this size.
    #[must_use]
    pub fn sized(mut self, size: Size, deepest: bool) -> Self {
        (self.size, self.deepest) = (size, deepest);
        self
    }

    /// Factors of `LL`, of `HL` and `LH`, and of `HH`.
    fn scales(&self) -> [f32; 3] {
        let (l, h) = (self.lifting.low_scale, self.lifting.high_scale);
        [l * l, l * h, h * h].map(|v| v as f32)
    }

    /// The WGSL of this level, as `limpid dwt --explain` shows it.
    pub fn wgsl(&self) -> Result<String> {
        let scheme = Scheme::new(&self.lifting, self.scheme, self.direction);
        Ok(format!(
            "{}{}",
            Params::WGSL,
            emit::kernel(self, &scheme)?.0
        ))
    }

    fn fast(&self) -> Option<&TwoTaps> {
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
        match self.direction {
            Direction::Inverse => Contract::whole(1 + other, 1),
            Direction::Forward | Direction::Adjoint => Contract::whole(1, 1 + other),
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let threads = rayon::current_num_threads().min(cores());
        let layout = Layout::new(job.level, threads);
        let (lw, lh) = (halves(self.size.width).0, halves(self.size.height).0);
        for plane in 0..job.reads[0].planes() {
            let source = job.reads[0].plane(plane);
            if self.direction == Direction::Inverse {
                let stride = job.reads[0].size().width;
                let ll = match job.reads.get(1) {
                    Some(low) => Plane {
                        data: low.plane(plane),
                        stride: lw,
                        size: Size::new(lw, lh),
                    },
                    None => Plane {
                        data: source,
                        stride,
                        size: Size::new(lw, lh),
                    },
                };
                let bands = Bands {
                    ll,
                    packed: source,
                    stride,
                    size: self.size,
                };
                let out = (job.writes[0].band(plane), self.size.width);
                match self.fast() {
                    Some(fast) => cpu::inverse_level(
                        fast,
                        &layout,
                        &bands,
                        out,
                        state(job.scratch, self.size, &layout),
                    ),
                    None => self.general.inverse(&bands, out, job.scratch),
                }
            } else {
                let src = Plane {
                    data: source,
                    stride: self.size.width,
                    size: self.size,
                };
                let stride = job.writes[0].size().width;
                let [packed, rest @ ..] = &mut job.writes[..] else {
                    return;
                };
                let low = rest.first_mut().map(|low| low.band(plane));
                let packed = (packed.band(plane), stride);
                match self.fast() {
                    Some(fast) => {
                        let low = low.map(|data| (data, lw));
                        cpu::forward_level(
                            fast,
                            &layout,
                            &src,
                            packed,
                            low,
                            state(job.scratch, self.size, &layout),
                        );
                    }
                    None => self.general.forward(&src, packed, low, job.scratch),
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let even = self.size.width.is_multiple_of(2) && self.size.height.is_multiple_of(2);
        let own = self.fast.is_some() && even;
        if !keeps_mirrored(&self.lifting) && !own {
            return Err(Error::unsupported(
                "the GPU transforms symmetric wavelets (cdf53, cdf97, dd137, b3, bior2.2, bior4.4, …) and, at even sizes, haar; use --device cpu",
            ));
        }
        let scheme = Scheme::new(&self.lifting, self.scheme, self.direction);
        let (text, region) = emit::kernel(self, &scheme)?;
        let packed = match self.direction {
            Direction::Inverse => site.reads[0],
            Direction::Forward | Direction::Adjoint => site.writes[0],
        };
        let (lw, lh) = (halves(self.size.width).0, halves(self.size.height).0);
        let params = Params {
            frame_width: packed.size.width as u32,
            frame_height: packed.size.height as u32,
            width: self.size.width as u32,
            height: self.size.height as u32,
            low_width: lw as u32,
            low_height: lh as u32,
        };
        let (tw, th) = region.tile().unwrap_or((1, 1));
        let groups = [
            (lw as u32).div_ceil(tw as u32),
            (lh as u32).div_ceil(th as u32),
            packed.planes as u32,
        ];
        Ok(Dispatch::compute(
            format!("{}{text}", Params::WGSL),
            &params,
            groups,
        ))
    }

    fn scratch(&self, _size: Size) -> usize {
        match self.fast() {
            Some(_) => cpu::state_words(
                self.size.width,
                &Layout::new(fearless_simd::Level::baseline(), cores()),
            ),
            None => General::scratch_words(self.size.width, self.size.height),
        }
    }
}

/// The most threads that scratch memory is taken for.
fn cores() -> usize {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(64)
}

fn state<'a>(scratch: &'a mut [f32], size: Size, layout: &Layout) -> &'a mut [f32] {
    let words = cpu::state_words(size.width, layout).min(scratch.len());
    &mut scratch[..words]
}
