//! Plans for volumes: each level transforms along time by tables, then each frame as an image.

use super::{DwtSchedule, Ready};
use crate::method::Schedule;
use crate::{Result, Size};
use limpid_kernel_wavelet::lines::{Axis, Frames, Lines, words};
use limpid_plan::{Plan, Role, Slot, SlotId};
use limpid_reference::definition::dwt::{Extent, Pass, Table, extent, line_tables, low_frames};
use limpid_wavelet::Direction;

/// A volume in a slot.
#[derive(Clone, Copy)]
struct VolumeSlot {
    slot: SlotId,
    frames: Frames,
}

/// Low and high frames of a level.
struct Level {
    size: Size,
    frames: usize,
    low: usize,
}

impl Level {
    fn new([width, height, frames]: Extent, ready: &Ready) -> Self {
        Self {
            size: Size::new(width, height),
            frames,
            low: low_frames(frames, &ready.definition()),
        }
    }

    /// First frame and number of frames of both bands; a volume of one frame has no high band.
    fn bands(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let bands = [(0, 0, self.low), (1, self.low, self.frames - self.low)];
        bands.into_iter().filter(|(_, _, count)| *count > 0)
    }
}

/// A table that copies each frame, starting at this one.
fn same(first: usize, count: usize) -> Table {
    (first..first + count).map(|i| vec![(i, 1.0)]).collect()
}

impl Ready {
    /// Adds the levels between a volume and its packed coefficients, in either direction.
    pub(super) fn volume(
        &self,
        plan: &mut Plan,
        (image, packed): (SlotId, SlotId),
        schedule: &Schedule,
        direction: Direction,
    ) -> Result<()> {
        let count = self.frames.unwrap_or(1);
        let whole = extent(plan.at(image).size, count)?;
        let levels = self.definition().extents(whole)?;
        let held = |slot| VolumeSlot {
            slot,
            frames: Frames {
                size: Size::new(whole[0], whole[1]),
                count,
            },
        };
        let mut build = Build {
            channels: plan.at(image).planes,
            one: Self {
                levels: 1,
                frames: None,
                wavelet: self.wavelet.clone(),
                ..*self
            },
            plan,
            schedule,
            direction,
        };
        let (image, packed) = (held(image), held(packed));
        let levels: Vec<Level> = levels.into_iter().map(|e| Level::new(e, self)).collect();
        match direction {
            Direction::Forward => build.forward(&levels, image, packed),
            Direction::Inverse | Direction::Adjoint => build.back(&levels, image, packed),
        }
    }
}

struct Build<'a> {
    plan: &'a mut Plan,
    /// One level of an image.
    one: Ready,
    schedule: &'a Schedule,
    direction: Direction,
    channels: usize,
}

impl Build<'_> {
    fn slot(&mut self, name: &str, size: Size, count: usize) -> VolumeSlot {
        let slot = Slot::new(name, Role::Transient, size, self.channels * count);
        VolumeSlot {
            slot: self.plan.slot(slot),
            frames: Frames { size, count },
        }
    }

    /// Sums frames of a part of one volume into another, starting at frame `first`.
    fn sums(
        &mut self,
        from: VolumeSlot,
        (to, first): (VolumeSlot, usize),
        part: Size,
        (rows, add): (&[Vec<(usize, f64)>], bool),
    ) {
        let kernel = Lines {
            axis: Axis::Frame,
            src: from.frames,
            dst: to.frames,
            from: (0, 0),
            to: (0, 0, first),
            size: part,
            add,
        };
        let (width, words) = words(rows);
        let table = self.plan.data("frames", width, words);
        self.plan.pass(kernel, [from.slot, table], [to.slot]);
    }

    /// Tables of both bands along time.
    fn tables(&self, frames: usize) -> Result<[Table; 2]> {
        let pass = match (self.direction, self.one.adjoint) {
            (Direction::Forward, _) => Pass::Forward,
            (_, false) => Pass::Inverse,
            (_, true) => Pass::Adjoint,
        };
        line_tables(&self.one.definition(), frames, pass)
    }

    /// One level of all frames as images, between samples and sub-bands.
    fn frames(&mut self, image: SlotId, packed: SlotId) -> Result<()> {
        if self.one.lifted() {
            let none = (&[][..], None);
            let slots = (image, packed);
            return self
                .one
                .levels(self.plan, slots, self.schedule, self.direction, none);
        }
        self.schedule.choice::<DwtSchedule>()?;
        let back = self.direction != Direction::Forward;
        self.one.tables(self.plan, (image, packed), back)
    }

    fn forward(&mut self, levels: &[Level], image: VolumeSlot, packed: VolumeSlot) -> Result<()> {
        let mut from = image;
        for level in levels {
            let tables = self.tables(level.frames)?;
            let mut next = from;
            for (band, first, count) in level.bands() {
                let samples = self.slot("frames", level.size, count);
                self.sums(from, (samples, 0), level.size, (&tables[band], false));
                let bands = self.slot("sub-bands", level.size, count);
                self.frames(samples.slot, bands.slot)?;
                let copy = (&same(0, count)[..], false);
                self.sums(bands, (packed, first), level.size, copy);
                if band == 0 {
                    next = bands;
                }
            }
            from = next;
        }
        Ok(())
    }

    fn back(&mut self, levels: &[Level], image: VolumeSlot, packed: VolumeSlot) -> Result<()> {
        let mut corner: Option<VolumeSlot> = None;
        for (i, level) in levels.iter().enumerate().rev() {
            let tables = self.tables(level.frames)?;
            let out = match i {
                0 => image,
                _ => self.slot("low frames", level.size, level.frames),
            };
            for (band, first, count) in level.bands() {
                let bands = self.slot("sub-bands", level.size, count);
                let copy = (&same(first, count)[..], false);
                self.sums(packed, (bands, 0), level.size, copy);
                if let Some(low) = corner.filter(|_| band == 0) {
                    let copy = (&same(0, count)[..], false);
                    self.sums(low, (bands, 0), low.frames.size, copy);
                }
                let samples = self.slot("frames", level.size, count);
                self.frames(samples.slot, bands.slot)?;
                let sums = (&tables[band][..], band > 0);
                self.sums(samples, (out, 0), level.size, sums);
            }
            corner = Some(out);
        }
        Ok(())
    }
}
