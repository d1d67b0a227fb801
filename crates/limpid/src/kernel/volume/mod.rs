//! A linear map along the frames of a volume: each frame is a sum of a few frames, by a table.
//!
//! Frames below each other in one image and frames that are planes of a slot lie in memory alike, one after the other, channel by
//! channel: slots of either form are read and written. With a table of ones this copies part of a volume into another.

use super::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};
use crate::simd::dispatch;
use crate::{Result, Size, params};
use fearless_simd::Simd;
use rayon::prelude::*;

/// The frames of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frames {
    /// Size of a frame.
    pub size: Size,
    /// Frames of a channel.
    pub count: usize,
}

/// Reads a volume and a table (index and weight of each term, rows of equal length), writes frames of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AlongTime {
    /// The volume that is read.
    pub from: Frames,
    /// The volume that is written.
    pub to: Frames,
    /// The first frame that is written; as many follow as the table has rows.
    pub first: usize,
    /// Which part of the frames is read and written, from the top left.
    pub part: Size,
    /// Whether sums are added to the existing values.
    pub add: bool,
}

params! {
    /// Parts and sizes.
    struct Params {
        width: u32, height: u32, terms: u32, frames: u32, first: u32,
        src_width: u32, src_height: u32, src_frames: u32,
        dst_width: u32, dst_height: u32, dst_frames: u32,
    }
}

impl Kernel for AlongTime {
    fn name(&self) -> &'static str {
        "along-time"
    }

    fn contract(&self) -> Contract {
        let contract = Contract::whole(2, 1);
        if self.add {
            contract.updating()
        } else {
            contract
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        let table = &job.reads[1];
        let made = table.size().height;
        let (from, to) = (self.from.size, self.to.size);
        // Planes of either form follow one another, so that a frame is found by its number alone.
        let source = &job.reads[0];
        let src_plane = source.size().pixels();
        let frame = |number: usize| {
            let at = number * from.pixels();
            &source.plane(at / src_plane)[at % src_plane..][..from.pixels()]
        };
        let dst_plane = job.writes[0].size().pixels();
        let channels = job.writes[0].planes() * dst_plane / (self.to.count * to.pixels());
        for channel in 0..channels {
            for t in 0..made {
                let at = (channel * self.to.count + self.first + t) * to.pixels();
                let out = &mut job.writes[0].band(at / dst_plane)[at % dst_plane..][..to.pixels()];
                let terms = table.row_as::<[u32; 2]>(0, t);
                let rows = out.par_chunks_mut(to.width).take(self.part.height);
                rows.enumerate().for_each(|(y, out)| {
                    let out = &mut out[..self.part.width];
                    if !self.add {
                        out.fill(0.0);
                    }
                    for [index, weight] in terms {
                        let weight = f32::from_bits(*weight);
                        if weight != 0.0 {
                            let row = &frame(channel * self.from.count + *index as usize)
                                [y * from.width..][..self.part.width];
                            dispatch!(level, simd => add(simd, out, row, weight));
                        }
                    }
                });
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (dst, table) = (site.writes[0], site.reads[1].size);
        let params = Params {
            width: self.part.width as u32,
            height: self.part.height as u32,
            terms: table.width as u32 / 2,
            frames: table.height as u32,
            first: self.first as u32,
            src_width: self.from.size.width as u32,
            src_height: self.from.size.height as u32,
            src_frames: self.from.count as u32,
            dst_width: self.to.size.width as u32,
            dst_height: self.to.size.height as u32,
            dst_frames: self.to.count as u32,
        };
        let text = format!(
            "{}const ADD: bool = {};\n{}",
            Params::WGSL,
            self.add,
            include_str!("along_time.wgsl")
        );
        let channels = dst.size.pixels() * dst.planes / (self.to.count * self.to.size.pixels());
        let mut groups = tiles(self.part, 32, 8);
        groups[2] = (channels * table.height) as u32;
        Ok(Dispatch::own(text, &params, groups))
    }
}

#[inline(always)]
fn add<S: Simd>(_: S, to: &mut [f32], from: &[f32], weight: f32) {
    for (a, b) in to.iter_mut().zip(from) {
        *a += weight * b;
    }
}
