//! Steps of temporal anti-aliasing: colours to luma and differences, the resolve, and what is kept for the next frame.

mod cpu;
mod gpu;

use super::{Contract, Dispatch, Job, Kernel, Site};
use crate::Result;

/// Red, green, blue to YCoCg, images of one plane as they are; then divided by one plus the luma's share of highlights.
#[derive(Debug, Clone, PartialEq)]
pub struct ToYCoCg {
    /// How strongly bright colours are compressed.
    pub highlights: f32,
}

impl Kernel for ToYCoCg {
    fn name(&self) -> &'static str {
        "ycocg"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::convert(self.highlights, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::convert(self.highlights, site))
    }
}

/// Blends a frame with the last result, moved to where its points are now and clipped to what the frame allows.
///
/// Reads colour, history (the last result, and a plane of ones where there is one), then mean and deviation unless it
/// makes them itself, then motion if there is any. Writes colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolve {
    /// Half the size of the box, in standard deviations.
    pub gamma: f32,
    /// Share of the new frame.
    pub blend: f32,
    /// How strongly bright colours are compressed while they are blended.
    pub highlights: f32,
    /// The radius of the window, when it makes mean and deviation itself.
    pub window: Option<usize>,
    /// Whether motion is given.
    pub motion: bool,
}

impl Kernel for Resolve {
    fn name(&self) -> &'static str {
        "resolve"
    }

    fn contract(&self) -> Contract {
        let statistics = if self.window.is_some() { 0 } else { 2 };
        Contract::gather(2 + statistics + usize::from(self.motion), 1, None)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::resolve(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::resolve(self, site))
    }
}

/// Keeps a result as history: its planes, and one of ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep;

impl Kernel for Keep {
    fn name(&self) -> &'static str {
        "keep"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let planes = job.reads[0].planes();
        for y in job.rows.clone() {
            for plane in 0..planes {
                let row = job.reads[0].row(plane, y);
                job.writes[0].row(plane, y).copy_from_slice(row);
            }
            job.writes[0].row(planes, y).fill(1.0);
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::keep(site))
    }
}
