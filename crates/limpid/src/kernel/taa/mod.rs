//! Steps of temporal anti-aliasing: colours to luma and differences, and the resolve.

mod cpu;
mod gpu;

use super::{Contract, Dispatch, Job, Kernel, Site};
use crate::{Result, Size};

/// Red, green, blue to YCoCg, images of one plane as they are; then divided by one plus the luma's share of highlights.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToYCoCg {
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

/// Blends a frame with the previous result, reprojected and clipped to what the frame allows.
///
/// Reads colour, history (the last result as it was blended, and a plane of ones where there is one), then mean and deviation
/// unless it makes them itself, then the moments of [`super::svgf`] if they count, then motion if there is any. Writes colour, and history for the next frame.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resolve {
    /// Half the size of the box, in standard deviations.
    pub gamma: f32,
    /// Share of the new frame.
    pub blend: f32,
    /// How strongly bright colours are compressed while they are blended.
    pub highlights: f32,
    /// What neighbours count beside the pixel where there is no history.
    pub soften: f32,
    /// The radius of the window, when it makes mean and deviation itself.
    pub window: Option<usize>,
    /// Whether moments are given, which tell how many frames have shown the surface of a pixel: the new frame has its share of them.
    pub frames: bool,
    /// Whether motion is given.
    pub motion: bool,
    /// Whether there is a history; else it reads and writes colour only.
    pub history: bool,
}

impl Kernel for Resolve {
    fn name(&self) -> &'static str {
        "resolve"
    }

    fn contract(&self) -> Contract {
        if !self.history {
            return Contract::rows(1, 1, 1);
        }
        let statistics = if self.window.is_some() { 0 } else { 2 };
        let more = usize::from(self.motion) + usize::from(self.frames);
        Contract::gather(2 + statistics + more, 2, None)
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(size.width)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::resolve(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::resolve(self, site))
    }

    /// Motion.
    fn reads_texture(&self, read: usize) -> bool {
        self.history && self.motion && read + 1 == self.contract().reads
    }
}
