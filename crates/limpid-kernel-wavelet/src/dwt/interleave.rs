//! Converts between sub-bands and the interleaved order, where coefficients stay at the positions of their samples.

use super::plane::halves;
use crate::own::own;
use limpid_core::{Error, Result, Size};
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, WgslStruct, tiles};

/// Reorders coefficients: to the interleaved order, or `back` to sub-bands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interleave {
    /// Number of levels.
    pub levels: usize,
    /// Whether to convert from interleaved to sub-bands.
    pub back: bool,
}

params! {
    /// Size and levels.
    struct Params { width: u32, height: u32, levels: u32 }
}

/// The position among sub-bands of coefficient `i` of an interleaved line of `n` samples, in a band of the given level: the
/// first level whose grid has an odd coordinate there, or `levels` for the remainder.
fn place(i: usize, n: usize, level: usize, levels: usize) -> usize {
    let mut low = n;
    for _ in 0..level {
        low = halves(low).0;
    }
    let at = i >> level;
    if level == levels {
        return at;
    }
    at / 2 + if at % 2 == 1 { halves(low).0 } else { 0 }
}

impl Kernel for Interleave {
    fn name(&self) -> &'static str {
        "interleave"
    }

    fn contract(&self) -> Contract {
        Contract::whole(1, 1)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let slot = pass.reads[0];
        [Need::planes(slot.size, slot.planes); 2].to_vec()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let Size { width, height } = job.reads[0].size();
        for plane in 0..job.reads[0].planes() {
            for y in 0..height {
                for x in 0..width {
                    let level = ((x | y).trailing_zeros() as usize).min(self.levels);
                    let at = (
                        place(x, width, level, self.levels),
                        place(y, height, level, self.levels),
                    );
                    if self.back {
                        job.writes[0].row(plane, at.1)[at.0] = job.reads[0].row(plane, y)[x];
                    } else {
                        job.writes[0].row(plane, y)[x] = job.reads[0].row(plane, at.1)[at.0];
                    }
                }
            }
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        // Shaders shift by up to this many bits.
        if self.levels >= 32 {
            return Err(Error::unsupported("at most 31 levels are interleaved"));
        }
        let size = pass.reads[0].size;
        let params = Params {
            width: size.width as u32,
            height: size.height as u32,
            levels: self.levels as u32,
        };
        let text = Wgsl::default()
            .body(Params::WGSL)
            .constant("BACK", "bool", self.back)
            .slots(pass, &["src", "dst"])
            .body(include_str!("interleave.wgsl"))
            .text();
        let mut groups = tiles(size, 32, 8);
        groups[2] = pass.reads[0].planes as u32;
        Ok(own(self, pass, Dispatch::compute(text, &params, groups)))
    }
}
