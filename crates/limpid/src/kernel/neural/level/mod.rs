//! One level of the filter with learned guides.

mod cpu;

use crate::definition::neural::{GUIDES, PRECISION, TAPS};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};
use crate::plan::Element;
use crate::{Result, Size, params};

/// What weighs besides the guides: brightness and distrust, by the planes of the network that say how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guided {
    /// Precision of the brightness.
    pub sharpness: usize,
    /// Distrust in a tap.
    pub distrust: usize,
}

/// One level. Reads the payload, the guides and the other planes of the network.
///
/// With brightness, the payload is colour, then its brightness, which is made anew, then all that goes with it; on a GPU four planes
/// are one. Without, it is three planes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Level {
    /// Distance of the taps.
    pub step: usize,
    /// The first plane of the guides.
    pub first: usize,
    /// The plane with the precision of the guides.
    pub precision: usize,
    /// What else weighs.
    pub guided: Option<Guided>,
    /// Planes of the payload on the CPU.
    pub planes: usize,
}

params! {
    /// Parameters of the shader.
    struct Params { width: u32, height: u32, step: u32, guides: u32, stop: u32, sharpness: u32, distrust: u32 }
}

impl Kernel for Level {
    fn name(&self) -> &'static str {
        "neural-level"
    }

    fn contract(&self) -> Contract {
        Contract::rows(3, 1, TAPS.len() / 2 * self.step)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::run(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (size, vectors) = (site.reads[0].size, site.reads[0].planes);
        let mut source = String::from(Params::WGSL);
        source.push_str(&format!(
            "const VECTORS: u32 = {vectors};
const GUIDED: bool = {};
@group(0) @binding(1) var<storage, read> src: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> others: array<f32>;
@group(0) @binding(4) var<storage, read_write> dst: array<vec4<f32>>;
",
            self.guided.is_some()
        ));
        source.push_str(match site.reads[1].element {
            Element::U32x4 => include_str!("guides_half.wgsl"),
            _ => include_str!("guides_full.wgsl"),
        });
        source.push_str(include_str!("gpu.wgsl"));
        let of = |plane: usize| (plane - PRECISION) as u32;
        let params = Params {
            width: size.width as u32,
            height: size.height as u32,
            step: self.step as u32,
            guides: (self.first / GUIDES) as u32,
            stop: of(self.precision),
            sharpness: self.guided.map_or(0, |g| of(g.sharpness)),
            distrust: self.guided.map_or(0, |g| of(g.distrust)),
        };
        Ok(Dispatch::own(source, &params, tiles(size, 32, 8)))
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(self, size.width)
    }
}

const _: () = assert!(GUIDES == 8, "shaders read two vectors of guides");
