//! The small operations around the filter of [`super::nlm`]: joins, variances, contrast, selection and blending.
//!
//! All of them look at a pixel or at its neighbours; their shaders have one thread per pixel.

mod contrast;
mod floor;
mod select;
mod variance;

pub use contrast::Contrast;
pub use floor::Floor;
pub use select::{Blend, Select};
pub use variance::{ImageVariance, Point};

use super::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};
use crate::Result;
use crate::params;

params! {
    /// Size of the image.
    struct Params { width: u32, height: u32, pixels: u32, planes: u32 }
}

/// Side of a workgroup.
const SIDE: u32 = 16;

/// A shader with one thread per pixel: `body` sees `x`, `y` and the pixel's place `i`, and the slots `read0 …`, `write0 …`.
fn per_pixel(site: &Site<'_>, functions: &str, body: &str) -> Dispatch {
    let slot = site.writes[0];
    let params = Params {
        width: slot.size.width as u32,
        height: slot.size.height as u32,
        pixels: slot.size.pixels() as u32,
        planes: slot.planes as u32,
    };
    let mut source = format!("{}{}{functions}", Params::WGSL, site.slots());
    source += &format!(
        "@compute @workgroup_size({})\n\
         fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{\n    \
             let x = group.x * {SIDE}u + lane % {SIDE}u;\n    \
             let y = group.y * {SIDE}u + lane / {SIDE}u;\n    \
             if x >= p.width || y >= p.height {{ return; }}\n    \
             let i = y * p.width + x;\n{body}}}\n",
        SIDE * SIDE
    );
    Dispatch::compute(source, &params, tiles(slot.size, SIDE, SIDE))
}

/// Planes of several slots, one after the other, in one slot.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// For each slot read: its first plane that is taken, and how many.
    pub takes: Vec<(usize, usize)>,
}

impl Kernel for Join {
    fn name(&self) -> &'static str {
        "join"
    }

    fn contract(&self) -> Contract {
        Contract::rows(self.takes.len(), 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for y in job.rows.clone() {
            let mut to = 0;
            for (read, (first, count)) in job.reads.iter().zip(&self.takes) {
                for c in *first..first + count {
                    job.writes[0].row(to, y).copy_from_slice(read.row(c, y));
                    to += 1;
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let mut body = String::new();
        let mut to = 0;
        for (k, (first, count)) in self.takes.iter().enumerate() {
            for c in *first..first + count {
                body +=
                    &format!("    write0[{to}u * p.pixels + i] = read{k}[{c}u * p.pixels + i];\n");
                to += 1;
            }
        }
        Ok(per_pixel(site, "", &body))
    }
}
