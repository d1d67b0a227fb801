//! A linear map along one axis: each output is a weighted sum of a few values of its row, of its column or at its position in
//! other frames, given by a table.
//!
//! With tables of wavelet filters this is one axis of one band of a transform, with any border handling. With a table of ones
//! it copies part of a volume into another.

use crate::own::own;
use fearless_simd::Simd;
use limpid_core::simd::dispatch;
use limpid_core::{Error, Result, Size};
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{
    Contract, Dispatch, Element, Job, Kernel, Need, PassSlots, Slot, WgslStruct, tiles,
};
use rayon::prelude::*;

/// The axis of the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Along rows.
    Row,
    /// Along columns.
    Column,
    /// From frame to frame.
    Frame,
}

/// The frames of a slot, channel by channel. They are planes, or stacked in one plane: the memory is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frames {
    /// Size of a frame.
    pub size: Size,
    /// Frames of a channel; 1 for an image.
    pub count: usize,
}

/// Reads part of a volume or an image and a table (index and weight of each term, rows of equal length), writes part of another
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// The axis of the sums.
    pub axis: Axis,
    /// The frames that are read.
    pub src: Frames,
    /// The frames that are written.
    pub dst: Frames,
    /// Column and row at which reading starts.
    pub from: (usize, usize),
    /// Column, row and frame at which writing starts.
    pub to: (usize, usize, usize),
    /// Columns and rows to write.
    pub size: Size,
    /// Whether sums are added to the existing values.
    pub add: bool,
}

params! {
    /// Parts and sizes.
    struct Params {
        from_x: u32, from_y: u32, to_x: u32, to_y: u32, to_frame: u32, width: u32, height: u32, frames: u32, terms: u32,
        src_width: u32, src_height: u32, src_frames: u32,
        dst_width: u32, dst_height: u32, dst_frames: u32,
    }
}

/// A table as words of a slot, and the length of its rows.
pub fn words(table: &[Vec<(usize, f64)>]) -> (usize, Vec<u32>) {
    let terms = table.iter().map(Vec::len).max().unwrap_or(0);
    let mut words = Vec::with_capacity(2 * terms * table.len());
    for row in table {
        let none = std::iter::repeat_n(&(0, 0.0), terms - row.len());
        for (index, weight) in row.iter().chain(none) {
            words.extend([*index as u32, (*weight as f32).to_bits()]);
        }
    }
    (2 * terms, words)
}

impl Lines {
    /// Frames to write, from the number of rows of the table.
    fn frames(&self, rows: usize) -> usize {
        match self.axis {
            Axis::Frame => rows,
            Axis::Row | Axis::Column => 1,
        }
    }

    /// Channels of the volume that is written.
    fn channels(&self, slot: &Slot) -> usize {
        let channel = self.dst.count.saturating_mul(self.dst.size.pixels());
        slot.size.pixels().saturating_mul(slot.planes) / channel.max(1)
    }

    /// Whether the parts lie inside their frames, and the table has a row for each line that is written.
    fn is_inside(&self, table: Size) -> bool {
        let within = |at: usize, count: usize, all: usize| {
            at.checked_add(count).is_some_and(|end| end <= all)
        };
        // Along the axis any value may be read.
        let (src, dst, frames) = (self.src, self.dst, self.frames(table.height));
        let (across, down, through, lines) = match self.axis {
            Axis::Row => (1, self.size.height, 1, self.size.width),
            Axis::Column => (self.size.width, 1, 1, self.size.height),
            Axis::Frame => (self.size.width, self.size.height, 1, frames),
        };
        lines <= table.height
            && within(self.from.0, across, src.size.width)
            && within(self.from.1, down, src.size.height)
            && through <= src.count
            && within(self.to.0, self.size.width, dst.size.width)
            && within(self.to.1, self.size.height, dst.size.height)
            && within(self.to.2, frames, dst.count)
    }
}

impl Kernel for Lines {
    fn name(&self) -> &'static str {
        match self.axis {
            Axis::Row => "lines",
            Axis::Column => "lines-down",
            Axis::Frame => "lines-along-time",
        }
    }

    fn contract(&self) -> Contract {
        let contract = Contract::whole(2, 1);
        if self.add {
            contract.updating()
        } else {
            contract
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let values = |frames: Frames, channels: usize| {
            let count = frames.size.pixels().saturating_mul(frames.count);
            Need::values(count.saturating_mul(channels))
        };
        let channels = self.channels(pass.writes[0]);
        vec![
            values(self.src, channels),
            Need::like(pass.reads[1]).of(Element::U32),
            values(self.dst, channels),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        let [source, table] = &job.reads[..] else {
            return;
        };
        let (src, dst) = (self.src, self.dst);
        // Planes of either form are contiguous, so that a frame is found by its index alone.
        let src_plane = source.size().pixels();
        let line = |frame: usize, y: usize| {
            let at = frame * src.size.pixels() % src_plane;
            let y = (self.from.1 + y) * src.size.width;
            &source.plane(frame * src.size.pixels() / src_plane)[at + y + self.from.0..]
        };
        let dst_plane = job.writes[0].size().pixels();
        let channels = job.writes[0].planes() * dst_plane / (dst.count * dst.size.pixels());
        let frames = self.frames(table.size().height);
        for (channel, frame) in (0..channels * frames).map(|i| (i / frames, i % frames)) {
            let at = (channel * dst.count + self.to.2 + frame) * dst.size.pixels();
            let out = &mut job.writes[0].band(at / dst_plane)[at % dst_plane..];
            let rows = out[self.to.1 * dst.size.width..].par_chunks_mut(dst.size.width);
            let rows = rows.take(self.size.height).enumerate();
            let first = channel * src.count;
            rows.for_each(|(y, out)| {
                let out = &mut out[self.to.0..][..self.size.width];
                if !self.add {
                    out.fill(0.0);
                }
                let mut sum = |row: usize, from: &dyn Fn(usize) -> (usize, usize)| {
                    for [index, weight] in table.row_as::<[u32; 2]>(0, row) {
                        let weight = f32::from_bits(*weight);
                        if weight != 0.0 {
                            let (frame, y) = from(*index as usize);
                            dispatch!(level, simd => add(simd, out, line(frame, y), weight));
                        }
                    }
                };
                match self.axis {
                    Axis::Row => {
                        let row = line(first, y);
                        for (x, v) in out.iter_mut().enumerate() {
                            for [index, weight] in table.row_as::<[u32; 2]>(0, x) {
                                *v += f32::from_bits(*weight) * row[*index as usize];
                            }
                        }
                    }
                    Axis::Column => sum(y, &|index| (first, index)),
                    Axis::Frame => sum(frame, &|index| (first + index, y)),
                }
            });
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let (slot, table) = (pass.writes[0], pass.reads[1].size);
        let (src, dst) = (self.src, self.dst);
        let frames = self.frames(table.height);
        if !self.is_inside(table) {
            return Err(Error::unsupported(format!(
                "{}: a part that is not inside its image",
                self.name()
            )));
        }
        let params = Params {
            from_x: self.from.0 as u32,
            from_y: self.from.1 as u32,
            to_x: self.to.0 as u32,
            to_y: self.to.1 as u32,
            to_frame: self.to.2 as u32,
            width: self.size.width as u32,
            height: self.size.height as u32,
            frames: frames as u32,
            terms: table.width as u32 / 2,
            src_width: src.size.width as u32,
            src_height: src.size.height as u32,
            src_frames: src.count as u32,
            dst_width: dst.size.width as u32,
            dst_height: dst.size.height as u32,
            dst_frames: dst.count as u32,
        };
        let text = Wgsl::default()
            .body(Params::WGSL)
            .constant("AXIS", "u32", self.axis as u32)
            .constant("ADD", "bool", self.add)
            .slots(pass, &["src", "table", "dst"])
            .body(include_str!("lines.wgsl"))
            .text();
        let channels = self.channels(slot);
        let mut groups = tiles(self.size, 32, 8);
        groups[2] = (channels * frames) as u32;
        Ok(own(self, pass, Dispatch::compute(text, &params, groups)))
    }
}

#[inline(always)]
fn add<S: Simd>(_: S, to: &mut [f32], from: &[f32], weight: f32) {
    for (a, b) in to.iter_mut().zip(from) {
        *a += weight * b;
    }
}
