//! Frames around the output frame, fetched along the motion.
//!
//! The definition is [`limpid_reference::definition::around`]. Frames are in rings as those of a film, see [`crate::film`].

mod cpu;
mod gpu;

use crate::film::Reel;
use crate::own::own;
use limpid_core::{Error, Result};
use limpid_plan::{Contract, Dispatch, Element, Job, Kernel, Need, PassSlots};

/// Planes of [`Trace`] for each distance: place before, whether found, and the same after.
pub const PLACES: usize = 6;

/// Frames that [`Fetch`] writes one after the other: the output frame, then those before and after at each distance.
pub const fn fetched(radius: usize) -> usize {
    2 * radius + 1
}

/// Follows the motion from each pixel of the output frame to the frames around. Reads the ring of motion and the clock. Writes, for each
/// distance, the place before and whether it was found, and the same after.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The ring of frames.
    pub reel: Reel,
}

impl Kernel for Trace {
    fn name(&self) -> &'static str {
        "trace"
    }

    fn contract(&self) -> Contract {
        Contract::gather(2, 1, None)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.writes[0].size;
        vec![
            Need::planes(size, self.reel.places() * 2),
            Need::values(2),
            Need::planes(size, PLACES * self.reel.radius),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::trace(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::trace(self, pass)))
    }

    fn work(&self) -> f32 {
        2.0
    }
}

/// How far splines between pixels go from straight lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// To the end of the range of the nearest pixels.
    Own,
    /// The same, and the share of the way is written, for each frame as the layer.
    Told,
    /// As far as is read of another layer.
    Given,
}

/// Fetches a layer of the output frame and of the frames around, where [`Trace`] found them. Reads its ring, the clock, the places, and limits
/// if they are given. Writes the frames one after the other; on a GPU the channels of each are packed into one element.
#[derive(Debug, Clone, PartialEq)]
pub struct Fetch {
    /// The ring of frames.
    pub reel: Reel,
    /// Channels of the layer, at most 4.
    pub channels: usize,
    /// What values are multiplied by.
    pub factor: f32,
    /// The limits between pixels.
    pub limits: Limits,
}

impl Kernel for Fetch {
    fn name(&self) -> &'static str {
        "fetch"
    }

    fn contract(&self) -> Contract {
        let reads = 3 + usize::from(self.limits == Limits::Given);
        let writes = 1 + usize::from(self.limits == Limits::Told);
        Contract::gather(reads, writes, None)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.writes[0].size;
        let frames = fetched(self.reel.radius);
        let made = match pass.writes[0].element {
            Element::F32 => Need::planes(size, frames * self.channels),
            stored => Need::planes(size, frames).of(stored),
        };
        let mut needs = vec![
            Need::planes(size, self.reel.places() * self.channels),
            Need::values(2),
            Need::planes(size, PLACES * self.reel.radius),
        ];
        needs.extend((self.limits == Limits::Given).then_some(made));
        needs.push(made);
        needs.extend((self.limits == Limits::Told).then_some(made));
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::fetch(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        if self.channels > 4 {
            return Err(Error::unsupported("a layer has at most 4 channels"));
        }
        Ok(own(self, pass, gpu::fetch(self, pass)))
    }

    fn work(&self) -> f32 {
        4.0
    }
}

/// A layer of the output frame. Reads its ring and the clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Middle {
    /// The ring of frames.
    pub reel: Reel,
}

impl Kernel for Middle {
    fn name(&self) -> &'static str {
        "middle"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes);
        vec![
            Need::planes(size, self.reel.places() * planes),
            Need::values(2),
            Need::planes(size, planes),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::middle(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, gpu::middle(self, pass)))
    }
}
