//! A level in passes over textures of quads, one fragment pass per step (Kula 2021, chapter 6).
//!
//! A texel is a quad. Around the image stand as many quads as all steps reach, mirrored at first; so they stay what a
//! mirrored image would give, whatever a step computes. Lifting that does not keep a mirrored signal mirrored has no such
//! margin: its steps read samples at their mirrored places.

use super::emit::{Access, load_coefficients, load_image, mirror, store_coefficients, store_image};
use super::plane::halves;
use super::{Level, Params, keeps_mirrored};
use crate::kernel::{Contract, Dispatch, Kernel, Site, WgslStruct, tiles};
use crate::plan::Home;
use crate::wavelet::{Direction, Matrix, Scheme};
use crate::{Result, Size};
use std::fmt::Write;

/// What a pass does.
#[derive(Debug, Clone)]
pub(crate) enum QuadPass {
    /// Takes quads from the image or its coefficients.
    Load,
    /// One step of the scheme.
    Step(Box<Matrix>),
    /// Puts quads where they belong.
    Store,
}

/// A pass over the quads of one plane.
#[derive(Debug, Clone)]
pub(crate) struct Quads {
    /// The level with its size.
    pub level: Level,
    /// Which plane.
    pub plane: usize,
    /// What to do.
    pub part: QuadPass,
}

impl Quads {
    /// Quads of a level, with those around it.
    pub(crate) fn grid(level: &Level) -> Size {
        let around = 2 * margin(level);
        let (width, height) = (halves(level.size.width).0, halves(level.size.height).0);
        Size::new(width + around, height + around)
    }

    /// The steps of a level's scheme, one matrix each.
    pub(crate) fn steps(level: &Level) -> Vec<Matrix> {
        let scheme = Scheme::new(&level.lifting, level.scheme, level.direction);
        let stages = scheme.stages.iter().filter(|s| !s.is_empty());
        let product = |stage: &Vec<Matrix>| {
            let all = stage.iter();
            all.fold(Matrix::identity(), |done, m| m * &done)
        };
        stages.map(product).collect()
    }

    fn inverse(&self) -> bool {
        self.level.direction == Direction::Inverse
    }

    /// The fragment shader of a step.
    fn shader(&self, matrix: &Matrix) -> String {
        let mut text = format!(
            "{}const MARGIN: i32 = {};\n{}",
            mirror(true),
            margin(&self.level),
            include_str!("step.wgsl")
        );
        for row in 0..4 {
            let mut terms = Vec::new();
            for column in 0..4 {
                for ((x, y), c) in matrix.entry(row, column).terms() {
                    let value = if row == column && (x, y) == (0, 0) {
                        format!("own[{column}]")
                    } else {
                        format!("sample(q + vec2<i32>({x}, {y}), {column})")
                    };
                    terms.push(format!("{:?} * {value}", c as f32));
                }
            }
            let _ = writeln!(text, "    let v{row} = {};", terms.join(" + "));
        }
        text.push_str("    return vec4<f32>(v0, v1, v2, v3);\n}\n");
        text
    }
}

impl Kernel for Quads {
    fn name(&self) -> &'static str {
        match self.part {
            QuadPass::Load => "dwt-quads",
            QuadPass::Step(_) => "dwt-step",
            QuadPass::Store => "dwt-from-quads",
        }
    }

    fn contract(&self) -> Contract {
        let whole = self.level.contract();
        match self.part {
            QuadPass::Load => Contract::whole(whole.reads, 1),
            QuadPass::Step(_) => Contract::whole(1, 1),
            QuadPass::Store => Contract::whole(1, whole.writes),
        }
    }

    fn gpu_only(&self) -> bool {
        true
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let level = &self.level;
        let packed = match (&self.part, self.inverse()) {
            (QuadPass::Load, true) => site.reads[0].size,
            (QuadPass::Store, false) => site.writes[0].size,
            _ => level.size,
        };
        let params = level.params(packed);
        let body = match &self.part {
            QuadPass::Step(matrix) => {
                let text = format!("{}{}", Params::WGSL, self.shader(matrix));
                return Ok(Dispatch::own_fragment(text, &params));
            }
            QuadPass::Load => {
                let load = if self.inverse() {
                    load_coefficients(1, level, Access::Samples)
                } else {
                    load_image(1, Home::Buffer, Access::Samples)
                };
                format!(
                    "{}{load}@group(0) @binding({}) var quads: texture_storage_2d<rgba32float, write>;\n{}",
                    mirror(true),
                    1 + site.reads.len(),
                    include_str!("quads_load.wgsl")
                )
            }
            QuadPass::Store => {
                let store = if self.inverse() {
                    store_image(2, Access::Samples)
                } else {
                    store_coefficients(2, level, Access::Samples)
                };
                format!(
                    "@group(0) @binding(1) var quads: texture_2d<f32>;\n{store}{}",
                    include_str!("quads_store.wgsl")
                )
            }
        };
        let grid = Self::grid(level);
        let text = format!(
            "{}const PLANE: u32 = {}u;\nconst MARGIN: i32 = {};\n{body}",
            Params::WGSL,
            self.plane,
            margin(level)
        );
        Ok(Dispatch::own(text, &params, tiles(grid, 16, 16)))
    }
}

/// Quads around the image: as far as all steps reach.
fn margin(level: &Level) -> usize {
    if !keeps_mirrored(&level.lifting) {
        return 0;
    }
    let steps = level
        .lifting
        .pairs
        .iter()
        .flat_map(|p| [&p.predict, &p.update]);
    steps.map(|taps| taps.reach() as usize).sum()
}
