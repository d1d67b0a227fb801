//! The upward pass of `eaw`: details between two levels, shrunk where they are mostly noise, are added to those of finer levels.
//!
//! Each channel is shrunk by its own threshold (BayesShrink): the noise variance over the signal's standard deviation, which is
//! estimated from the mean square of details in a window. The window's pixels have the spacing of the level's taps, so in the
//! permuted order they are neighbours. There the sum is reordered together with the levels, and no pass has to read them all
//! again.

mod cpu;

use crate::own::own;
use limpid_core::{Error, Result, Size};
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Element, Job, Kernel, Need, PassSlots, Scope, WgslStruct};
use limpid_plan::{Order, Phases};
use limpid_reference::definition::eaw::RADII;

/// One level of the upward pass. It reads the level, the next one, and the sum of finer details if there are any.
#[derive(Debug, Clone, PartialEq)]
pub struct Upward {
    /// Channels of colour: 1 or 3.
    pub colors: usize,
    /// The level.
    pub level: u32,
    /// Variance of noise in the details of this level, for each channel.
    pub noise: [f32; 3],
    /// Factor of the shrunk details.
    pub gain: f32,
    /// Whether the sum starts here.
    pub first: bool,
    /// Whether this is the last level, whose coarse image is added. The result is in rows.
    pub last: bool,
    /// The pixel order of this level, on a GPU; the next level and the output sum have one more split. All are in rows if
    /// `None`.
    pub from: Option<Phases>,
}

params! {
    /// Parameters of the shader.
    struct Params {
        width: u32, height: u32, tiles_x: u32, tiles_y: u32, level: u32, splits: u32,
        gain: f32, noise0: f32, noise1: f32, noise2: f32,
    }
}

/// Pixels of a workgroup's tile.
const TILE: [u32; 2] = [32, 16];

/// A detail with likely noise removed; `square` is the mean square of the details around it. Numbers are compared, because `f32::max` is a call in
/// WebAssembly, and loops with calls are not vectorised.
#[inline(always)]
pub fn shrunk(detail: f32, square: f32, noise: f32) -> f32 {
    let above = |value: f32, least: f32| if value > least { value } else { least };
    let signal = square - noise;
    let threshold = noise / above(signal, 1e-20).sqrt();
    let left = above(detail.abs() - threshold, 0.0);
    if signal > 0.0 {
        left.copysign(detail)
    } else {
        0.0
    }
}

impl Upward {
    fn radius(&self) -> usize {
        RADII[self.level as usize]
    }
}

impl Kernel for Upward {
    fn name(&self) -> &'static str {
        "upward"
    }

    fn contract(&self) -> Contract {
        let (reads, reach) = (2 + usize::from(!self.first), self.radius() << self.level);
        Contract {
            reads,
            writes: 1,
            scope: match self.from {
                None => Scope::Rows { halo: reach },
                Some(_) => Scope::Gather,
            },
            reach: Some(reach),
            updates: false,
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let slot = pass.reads[0];
        if slot.element == Element::F32 {
            return Vec::new();
        }
        pass.each(|_| Need::planes(slot.size, 1).of(Element::F32x4))
    }

    fn gpu_only(&self) -> bool {
        self.from.is_some()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::run(self, job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        if self.level >= 16 {
            return Err(Error::unsupported("more than 15 levels"));
        }
        let size = pass.reads[0].size;
        let local = self.from.is_some_and(|from| from.order == Order::Local);
        let rows = self.from.is_none();
        let source = Wgsl::default()
            .body(Params::WGSL)
            .constant("R", "i32", self.radius())
            .constant(
                "TILE",
                "vec2<u32>",
                format_args!("vec2({}u, {}u)", TILE[0], TILE[1]),
            )
            .constant("LOCAL", "bool", local)
            .constant("MIRROR", "bool", false)
            .constant("ROWS", "bool", rows)
            .constant("RESTORE", "bool", rows || self.last)
            .constant("STAYS", "bool", false)
            .reads(1, "fine", "vec4<f32>")
            .reads(2, "coarse", "vec4<f32>");
        let (source, before) = match self.first {
            true => (source.writes(3, "made", "vec4<f32>"), "vec4(0.0)"),
            false => {
                let source = source.reads(3, "finer", "vec4<f32>");
                (source.writes(4, "made", "vec4<f32>"), "finer[here]")
            }
        };
        let base = if self.last { "c" } else { "vec4(0.0)" };
        let source = source
            .function(
                "base(here: u32, c: vec4<f32>) -> vec4<f32>",
                format_args!("{before} + {base}"),
            )
            .body(include_str!("../atrous/phases.wgsl"))
            .body(include_str!("../atrous/positions.wgsl"))
            .body(include_str!("gpu.wgsl"))
            .text();
        let parts = 1u32 << self.level;
        let tiles = |n: usize, side: u32| (n as u32).div_ceil(parts).div_ceil(side);
        let (x, y) = (tiles(size.width, TILE[0]), tiles(size.height, TILE[1]));
        let params = Params {
            width: size.width as u32,
            height: size.height as u32,
            tiles_x: x,
            tiles_y: y,
            level: self.level,
            splits: 1,
            gain: self.gain,
            noise0: self.noise[0],
            noise1: self.noise[1],
            noise2: self.noise[2],
        };
        Ok(own(
            self,
            pass,
            Dispatch::compute(source, &params, [x * parts, y * parts, 1]),
        ))
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(self, size.width)
    }
}
