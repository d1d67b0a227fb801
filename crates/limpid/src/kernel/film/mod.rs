//! Films: frames kept in a ring, motion found from coarse to fine, blocks merged along it.
//!
//! The definition is [`crate::definition::film`]. The clock, two numbers that live from run to run, says where in the ring
//! the frames are: how often the plan ran, and how many of these runs brought a frame. After the last frame of a film runs
//! without one let those come out that are still waiting.

mod cpu;
mod gpu;
mod merge;
mod merged;
mod search;

use super::{Contract, Dispatch, Job, Kernel, Site};
use crate::definition::film::Settings;
use crate::{Result, Size};

/// The frames that a film's kernels look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reel {
    /// Frames before and after the one that is made.
    pub radius: usize,
    /// How many frames later than it comes in a frame is made.
    pub ahead: usize,
}

impl Reel {
    /// Places in the ring.
    pub(crate) fn places(self) -> usize {
        2 * self.radius + 1
    }
}

/// Counts the runs of a plan: the first number of the clock; and the frames: the second.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// Whether this run brings no frame.
    pub ended: bool,
}

impl Kernel for Tick {
    fn name(&self) -> &'static str {
        "tick"
    }

    fn contract(&self) -> Contract {
        Contract::whole(0, 1).updating()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let clock = job.writes[0].row(0, 0);
        clock[0] += 1.0;
        clock[1] += if self.ended { 0.0 } else { 1.0 };
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::tick(self, site))
    }
}

/// Puts a frame into the ring. Reads the frame and the clock, changes the ring.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Keep {
    pub reel: Reel,
}

impl Kernel for Keep {
    fn name(&self) -> &'static str {
        "keep"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, 0).updating()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let Some(place) = cpu::Clock::of(&job.reads[1]).newest(self.reel) else {
            return;
        };
        let planes = job.reads[0].planes();
        for y in job.rows.clone() {
            for plane in 0..planes {
                let to = job.writes[0].row(place * planes + plane, y);
                to.copy_from_slice(job.reads[0].row(plane, y));
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::keep(self, site))
    }
}

/// Luminance as motion is looked for in it: smoothed, in integers. Reads the frame and the clock, changes the ring of the
/// finest level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Search {
    pub reel: Reel,
    /// What stabilised luminance is multiplied with.
    pub gain: f32,
}

impl Kernel for Search {
    fn name(&self) -> &'static str {
        "search image"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, 1).updating()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::search(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::search(self, site))
    }
}

/// Half the size. Reads the ring of a level and the clock, changes that of the next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Halve {
    pub reel: Reel,
}

impl Kernel for Halve {
    fn name(&self) -> &'static str {
        "halve"
    }

    fn contract(&self) -> Contract {
        Contract::gather(2, 1, Some(1)).updating()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::halve(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::halve(self, site))
    }
}

/// What is searched around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchStart {
    /// At the coarsest level: standing still.
    Nothing,
    /// What the level before found.
    Coarser,
    /// The same, then half pixels.
    Finest,
}

/// The motion of each cell to each frame around. Reads the ring of a level, the clock and, where there is one, the motion of the
/// coarser level; writes two planes for each frame, in half pixels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Motion {
    pub reel: Reel,
    pub around: SearchStart,
}

impl Kernel for Motion {
    fn name(&self) -> &'static str {
        "motion"
    }

    fn contract(&self) -> Contract {
        let coarse = usize::from(self.around != SearchStart::Nothing);
        Contract::gather(2 + coarse, 1, None)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        search::motion(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::motion(self, site))
    }

    fn work(&self) -> f32 {
        3.0
    }
}

/// Merges blocks along motion and shrinks what is left of the noise. Reads the ring, the clock and the motion; writes the planes of
/// the shrunk frame, of the merged one, and of the variance that is left in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merge {
    pub reel: Reel,
    /// The numbers of the method.
    pub step: Settings,
}

impl Kernel for Merge {
    fn name(&self) -> &'static str {
        "merge"
    }

    fn contract(&self) -> Contract {
        Contract::gather(3, 1, None)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        merge::merge(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(gpu::merge(self, site))
    }

    fn scratch(&self, size: Size) -> usize {
        merge::scratch(size)
    }

    fn work(&self) -> f32 {
        10.0
    }
}
