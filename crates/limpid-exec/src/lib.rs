//! Executors of plans: threads and SIMD, or a GPU.

mod clock;
mod copy;
pub mod cpu;
mod device;
#[cfg(feature = "gpu")]
pub mod gpu;
mod limits;
pub mod tiled;
mod watch;

pub use device::Device;
pub use limits::DeviceLimits;
pub use watch::Watch;

/// The version of wgpu that this crate is built with.
#[cfg(feature = "gpu")]
pub use wgpu;

use limpid_core::{Error, Frame, Image, Result, Size};
use limpid_plan::{Plan, Role, Slot};
use std::fmt;
use std::task::Context;
use std::time::Duration;

/// Time of one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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

    /// Runs the plan on a frame; the outputs must exist and have the right size.
    fn run(&mut self, input: &Frame, output: &mut Frame, watch: &Watch) -> Result<()>;

    /// Starts a run on a frame. [`Runner::end`] returns its result; another run may start before that. Returns false, and
    /// starts nothing, if this runner cannot.
    fn begin(&mut self, _input: &Frame, _watch: &Watch) -> Result<bool> {
        Ok(false)
    }

    /// Whether [`Runner::end`] would return at once. If not, the task is woken when it would. Always true where threads can wait
    /// for the device.
    fn has_ended(&mut self, _context: &Context<'_>) -> bool {
        true
    }

    /// Waits for the oldest started run; the outputs must exist and have the right size.
    fn end(&mut self, _output: &mut Frame, _watch: &Watch) -> Result<()> {
        Err(Error::unsupported("no run has been started"))
    }

    /// Discards the started runs.
    fn abandon(&mut self) {}

    /// Updates the parameters to those of another plan and keeps memory, shaders and history. Returns false and changes nothing
    /// if that plan has other slots, passes or shaders.
    fn update(&mut self, plan: &Plan) -> Result<bool>;

    /// Clears the history: the next run is treated as the first.
    fn reset(&mut self);

    /// Time of each pass in the last run, if the device can measure it.
    fn times(&self) -> &[PassTime];

    /// For each repetition of the last run, the values checked by its end condition, after every round or every few.
    fn residuals(&self) -> &[Vec<f32>];

    /// Makes [`Runner::measure`] time all passes together, as the first one, if the device can: a timestamp between passes
    /// takes as long as a small pass.
    fn time_together(&mut self) {}

    /// The times of the passes in each of `runs` runs on these frames in turn, without transfers if the device has its own memory.
    fn measure(&mut self, frames: &[Frame], runs: usize) -> Result<Vec<Vec<PassTime>>>;
}

/// Black images for all outputs of a plan: of the plan's own size, or of the frame that its tiles cover.
pub fn outputs(plan: &Plan, size: Size) -> Result<Frame> {
    let mut frame = Frame::empty(size)?;
    for slot in plan.slots() {
        if let Role::Output(layer) = &slot.role {
            let image = Image::try_new(size.width, size.height, slot.planes)?;
            frame.insert(layer.clone(), image)?;
        }
    }
    Ok(frame)
}

/// Whether a frame has exactly the layers that [`outputs`] creates.
pub fn are_outputs(plan: &Plan, size: Size, frame: &Frame) -> bool {
    let is_output = |s: &&Slot| matches!(s.role, Role::Output(_));
    let outputs = plan.slots().iter().filter(is_output);
    let same = |slot: &Slot| match &slot.role {
        Role::Output(layer) => {
            (frame.get(layer.clone())).is_some_and(|i| i.channels() == slot.planes)
        }
        _ => true,
    };
    frame.size() == size
        && frame.sample_spacing() == 1
        && frame.layers().count() == outputs.count()
        && plan.slots().iter().all(same)
}
