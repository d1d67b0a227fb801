//! A linear map along lines: each value is a sum of a few values of its row or its column, by a table.
//!
//! With tables of wavelet filters this is one axis of one band of a transform, whatever its border is.

use super::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};
use crate::simd::dispatch;
use crate::{Result, Size, params};
use fearless_simd::Simd;
use rayon::prelude::*;

/// Reads part of an image and a table (index and weight of each term, rows of equal length), writes part of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lines {
    /// Along columns, not rows.
    pub down: bool,
    /// Where the part that is read starts.
    pub from: (usize, usize),
    /// Where the part that is written starts.
    pub to: (usize, usize),
    /// Size of what is written.
    pub size: Size,
    /// Whether sums are added to the existing values.
    pub add: bool,
}

params! {
    /// Parts and sizes.
    struct Params {
        from_x: u32, from_y: u32, to_x: u32, to_y: u32, width: u32, height: u32,
        src_width: u32, src_height: u32, dst_width: u32, dst_height: u32, terms: u32,
    }
}

/// Index and weight of a term as words of a table.
pub(crate) fn term(index: usize, weight: f64) -> [u32; 2] {
    [index as u32, (weight as f32).to_bits()]
}

impl Kernel for Lines {
    fn name(&self) -> &'static str {
        if self.down { "lines-down" } else { "lines" }
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
        let (src_width, stride) = (job.reads[0].size().width, job.writes[0].size().width);
        for plane in 0..job.reads[0].planes() {
            let src = job.reads[0].plane(plane);
            let row = |y: usize| &src[(self.from.1 + y) * src_width + self.from.0..];
            let out = &mut job.writes[0].band(plane)[self.to.1 * stride..];
            let rows = out
                .par_chunks_mut(stride)
                .take(self.size.height)
                .enumerate();
            rows.for_each(|(y, out)| {
                let out = &mut out[self.to.0..][..self.size.width];
                if !self.add {
                    out.fill(0.0);
                }
                if self.down {
                    for [index, weight] in table.row_as::<[u32; 2]>(0, y) {
                        let weight = f32::from_bits(*weight);
                        dispatch!(level, simd => add(simd, out, row(*index as usize), weight));
                    }
                    return;
                }
                let row = row(y);
                for (x, v) in out.iter_mut().enumerate() {
                    for [index, weight] in table.row_as::<[u32; 2]>(0, x) {
                        *v += f32::from_bits(*weight) * row[*index as usize];
                    }
                }
            });
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (src, dst) = (site.reads[0], site.writes[0]);
        let params = Params {
            from_x: self.from.0 as u32,
            from_y: self.from.1 as u32,
            to_x: self.to.0 as u32,
            to_y: self.to.1 as u32,
            width: self.size.width as u32,
            height: self.size.height as u32,
            src_width: src.size.width as u32,
            src_height: src.size.height as u32,
            dst_width: dst.size.width as u32,
            dst_height: dst.size.height as u32,
            terms: site.reads[1].size.width as u32 / 2,
        };
        let text = format!(
            "{}const DOWN: bool = {};\nconst ADD: bool = {};\n{}",
            Params::WGSL,
            self.down,
            self.add,
            include_str!("lines.wgsl")
        );
        let mut groups = tiles(self.size, 32, 8);
        groups[2] = src.planes as u32;
        Ok(Dispatch::own(text, &params, groups))
    }
}

#[inline(always)]
fn add<S: Simd>(_: S, to: &mut [f32], from: &[f32], weight: f32) {
    for (a, b) in to.iter_mut().zip(from) {
        *a += weight * b;
    }
}
