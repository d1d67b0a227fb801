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
use std::time::Duration;

/// Time of one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassTime {
    /// The kernel's name.
    pub name: String,
    /// How long it took, summed over repetitions.
    pub time: Duration,
}

/// Images for all outputs of a plan, black: of the plan's own size, or of that of the frame that its tiles fill.
pub(crate) fn outputs(plan: &Plan, size: Size) -> Result<Frame> {
    let mut frame = Frame::empty(size)?;
    for slot in &plan.slots {
        if let Role::Output(layer) = &slot.role {
            frame.insert(
                layer.clone(),
                Image::new(size.width, size.height, slot.planes),
            )?;
        }
    }
    Ok(frame)
}
