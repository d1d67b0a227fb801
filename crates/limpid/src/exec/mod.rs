//! WHO runs a plan: threads and SIMD, or a GPU.

mod copy;
pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;
pub(crate) mod tiled;
mod watch;

pub use watch::Watch;

use crate::plan::{Plan, Role};
use crate::{Frame, Image, Result, Size};
use std::fmt;
use std::time::Duration;

/// Time of one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassTime {
    /// The kernel's name.
    pub name: String,
    /// How long it took, summed over repetitions.
    pub time: Duration,
}

/// A plan with its memory on a device: build once, run many times.
pub trait Runner: fmt::Debug + Send + Sync {
    /// The plan.
    fn plan(&self) -> &Plan;

    /// Runs the plan on a frame; the outputs must be there and have the right size.
    fn run(&mut self, input: &Frame, output: &mut Frame, watch: &Watch) -> Result<()>;

    /// Takes the numbers of another plan; memory, shaders and history stay. False where that plan has other slots, passes or
    /// shaders; then nothing has changed.
    fn update(&mut self, plan: &Plan) -> Result<bool>;

    /// Forgets history: the next run is a first one.
    fn reset(&mut self);

    /// Time of each pass in the last run, where the device can tell.
    fn times(&self) -> &[PassTime];

    /// What each repetition of the last run looked at, round by round or after every few.
    fn residuals(&self) -> &[Vec<f32>];

    /// Lets [`Runner::measure`] time all passes together, as the first one, where the device can: a timestamp between passes
    /// takes as long as a small pass.
    fn time_together(&mut self) {}

    /// The times of the passes in each of `runs` runs on a frame, without transfers where the device has memory of its own.
    fn measure(&mut self, input: &Frame, runs: usize) -> Result<Vec<Vec<PassTime>>>;
}

/// Images for all outputs of a plan, black: of the plan's own size, or of that of the frame that its tiles fill.
pub(crate) fn outputs(plan: &Plan, size: Size) -> Result<Frame> {
    let mut frame = Frame::empty(size)?;
    for slot in &plan.slots {
        if let Role::Output(layer) = &slot.role {
            let image = Image::try_new(size.width, size.height, slot.planes)?;
            frame.insert(layer.clone(), image)?;
        }
    }
    Ok(frame)
}
