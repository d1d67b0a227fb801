//! Films: frames in a ring buffer, motion search from coarse to fine, and merging of blocks along the motion.
//!
//! The definition is [`limpid_reference::definition::film`]. The clock, two values that persist from run to run, determines where the
//! frames are in the ring: the number of runs of the plan, and how many of them had an input frame. After the last frame of a
//! film, runs without an input frame output the pending ones.

mod cpu;
mod gpu;
mod merge;
mod merged;
mod search;

pub(crate) use cpu::Clock;

use crate::own::own;
use limpid_core::{Error, Result, Size};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots};
use limpid_reference::definition::film::{CELL, Settings};

/// The frames that the kernels of a film read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reel {
    /// Frames before and after the output frame.
    pub radius: usize,
    /// Delay between the input of a frame and its output, in frames.
    pub ahead: usize,
}

impl Reel {
    /// Number of frames in the ring.
    pub fn places(self) -> usize {
        2 * self.radius + 1
    }
}

/// Counts the runs of a plan (the first value of the clock) and the frames (the second).
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Whether this run has no input frame.
    pub ended: bool,
}

impl Kernel for Tick {
    fn name(&self) -> &'static str {
        "tick"
    }

    fn contract(&self) -> Contract {
        Contract::whole(0, 1).updating()
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        pass.each(|_| Need::values(2))
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let clock = job.writes[0].row(0, 0);
        clock[0] += 1.0;
        clock[1] += if self.ended { 0.0 } else { 1.0 };
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::tick(self, pass)))
    }
}

/// Stores a frame in the ring. Reads the frame and the clock, updates the ring.
#[derive(Debug, Clone, PartialEq)]
pub struct Keep {
    /// The ring of frames.
    pub reel: Reel,
}

impl Kernel for Keep {
    fn name(&self) -> &'static str {
        "keep"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, 0).updating()
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let frame = pass.reads[0];
        vec![
            Need::planes(frame.size, frame.planes),
            Need::values(2),
            Need::planes(frame.size, self.reel.places() * frame.planes),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let Some(place) = Clock::of(&job.reads[1]).newest(self.reel) else {
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

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::keep(self, pass)))
    }
}

/// Luminance for the motion search: smoothed, as integers. Reads the frame and the clock, updates the ring of the finest level.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The ring of frames.
    pub reel: Reel,
    /// Factor of stabilised luminance.
    pub gain: f32,
}

impl Kernel for Search {
    fn name(&self) -> &'static str {
        "search image"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, 1).updating()
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.reads[0].size;
        let places = self.reel.places();
        vec![
            Need::planes(size, 1),
            Need::values(2),
            Need::planes(size, places),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::search(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::search(self, pass)))
    }
}

/// Halves the size. Reads the ring of a level and the clock, updates that of the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Halve {
    /// The ring of frames.
    pub reel: Reel,
}

impl Kernel for Halve {
    fn name(&self) -> &'static str {
        "halve"
    }

    fn contract(&self) -> Contract {
        Contract::gather(2, 1, Some(1)).updating()
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.reads[0].size;
        let half = Size::new(size.width.div_ceil(2), size.height.div_ceil(2));
        let places = self.reel.places();
        vec![
            Need::planes(size, places),
            Need::values(2),
            Need::planes(half, places),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::halve(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::halve(self, pass)))
    }
}

/// The start of the motion search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchStart {
    /// At the coarsest level: zero motion.
    Nothing,
    /// The motion of the coarser level.
    Coarser,
    /// The same, followed by half-pixel refinement.
    Finest,
}

/// The motion of each cell to each surrounding frame. Reads the ring of a level, the clock and, except at the coarsest level,
/// the motion of the coarser level; writes two planes for each frame, in half pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Motion {
    /// The ring of frames.
    pub reel: Reel,
    /// Where the search starts.
    pub around: SearchStart,
    /// Frames before and after whose motion is searched, at most those of the ring.
    pub radius: usize,
}

impl Kernel for Motion {
    fn name(&self) -> &'static str {
        "motion"
    }

    fn contract(&self) -> Contract {
        let coarse = usize::from(self.around != SearchStart::Nothing);
        Contract::gather(2 + coarse, 1, None)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let [ring, _clock, coarser @ ..] = &pass.reads[..] else {
            return Vec::new();
        };
        let others = 4 * self.radius;
        let mut needs = vec![Need::planes(ring.size, self.reel.places()), Need::values(2)];
        needs.extend(coarser.iter().map(|slot| Need::planes(slot.size, others)));
        needs.push(Need::planes(pass.writes[0].size, others));
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        search::motion(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::motion(self, pass)))
    }

    fn work(&self) -> f32 {
        3.0
    }
}

/// Merges blocks along the motion and shrinks the remaining noise. Reads the ring, the clock and the motion; writes the planes
/// of the shrunk frame, of the merged one, and of its remaining variance.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// The ring of frames.
    pub reel: Reel,
    /// The parameters of the method.
    pub step: Settings,
}

impl Kernel for Merge {
    fn name(&self) -> &'static str {
        "merge"
    }

    fn contract(&self) -> Contract {
        Contract::gather(3, 1, None)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes / 3);
        let cells = Size::new(size.width.div_ceil(CELL), size.height.div_ceil(CELL));
        vec![
            Need::planes(size, self.reel.places() * planes),
            Need::values(2),
            Need::planes(
                cells,
                2 * (self.step.radius + self.reel.ahead.min(self.step.radius)),
            ),
            Need::planes(size, 3 * planes),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        merge::merge(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        if pass.writes[0].planes > 9 {
            return Err(Error::unsupported("a film has at most 3 planes"));
        }
        Ok(own(self, pass, gpu::merge(self, pass)))
    }

    fn scratch(&self, size: Size) -> usize {
        merge::scratch(size)
    }

    fn work(&self) -> f32 {
        10.0
    }
}
