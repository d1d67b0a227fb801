//! A level in passes over textures of quads, one fragment pass per step (Kula 2021, chapter 9).
//!
//! A texel is a quad. A halo as wide as the reach of all steps surrounds the image and is mirrored initially; each step
//! preserves the symmetry. Lifting that does not preserve the symmetry of a mirrored signal has no halo: its steps read samples
//! at their mirrored positions.

use super::emit::{
    Access, load_coefficients, load_image, mirror, quad, store_coefficients, store_image,
};
use super::plane::halves;
use super::{Level, Params, keeps_mirrored};
use crate::own::own;
use limpid_core::{Result, Size};
use limpid_plan::Backing;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Kernel, Need, PassSlots, WgslStruct, tiles};
use limpid_wavelet::{Direction, Matrix, Scheme};

/// The work of a pass.
#[derive(Debug, Clone)]
pub enum QuadPass {
    /// Loads quads from the image or its coefficients.
    Load,
    /// One step of the scheme.
    Step(Box<Matrix>),
    /// Stores quads in the image or its coefficients.
    Store,
}

/// A pass over the quads of one plane.
#[derive(Debug, Clone)]
pub struct Quads {
    /// The level with its size.
    pub level: Level,
    /// The index of the plane.
    pub plane: usize,
    /// The work of the pass.
    pub part: QuadPass,
}

impl Quads {
    /// Quads of a level, including the halo.
    pub fn grid(level: &Level) -> Size {
        let around = 2 * margin(level);
        let (width, height) = (halves(level.size.width).0, halves(level.size.height).0);
        Size::new(width + around, height + around)
    }

    /// The steps of a level's scheme, one matrix each.
    pub fn steps(level: &Level) -> Vec<Matrix> {
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
        let made = quad(matrix, &|row, column, (x, y)| match (x, y) {
            (0, 0) if row == column => format!("own[{column}]"),
            _ => format!("sample(q + vec2<i32>({x}, {y}), {column})"),
        });
        self.begin()
            .body(mirror(true))
            .reads_texture(1, "src")
            .function("made(q: vec2<i32>, own: vec4<f32>) -> vec4<f32>", made)
            .body(include_str!("step.wgsl"))
            .text()
    }

    /// The code that all passes start with.
    fn begin(&self) -> Wgsl {
        Wgsl::default()
            .body(Params::WGSL)
            .constant("MARGIN", "i32", margin(&self.level))
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

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (level, planes) = (&self.level, self.plane + 1);
        let grid = Need::planes(Self::grid(level), 1);
        let image = Need::planes(level.size, planes);
        match (&self.part, self.inverse()) {
            (QuadPass::Step(_), _) => vec![grid; 2],
            (QuadPass::Load, false) => vec![image, grid],
            (QuadPass::Load, true) => {
                let mut needs = level.coefficients(pass.reads[0], planes);
                needs.extend(level.limits_need(pass, planes));
                needs.push(grid);
                needs
            }
            (QuadPass::Store, true) => vec![grid, image],
            (QuadPass::Store, false) => {
                let mut needs = vec![grid];
                needs.extend(level.coefficients(pass.writes[0], planes));
                needs
            }
        }
    }

    fn gpu_only(&self) -> bool {
        true
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let level = &self.level;
        let packed = match (&self.part, self.inverse()) {
            (QuadPass::Load, true) => pass.reads[0].size,
            (QuadPass::Store, false) => pass.writes[0].size,
            _ => level.size,
        };
        let params = level.params(packed);
        let text = self.begin().constant("PLANE", "u32", self.plane);
        let text = match &self.part {
            QuadPass::Step(matrix) => {
                let dispatch = Dispatch::fragment(self.shader(matrix), &params);
                return Ok(own(self, pass, dispatch));
            }
            QuadPass::Load => {
                let text = text.body(mirror(true));
                let text = if self.inverse() {
                    load_coefficients(text, 1, level, Access::Samples)
                } else {
                    load_image(text, 1, (Backing::Buffer, Access::Samples))
                };
                text.writes_texture(1 + pass.reads.len(), "quads", "rgba32float")
                    .body(include_str!("quads_load.wgsl"))
            }
            QuadPass::Store => {
                let text = text.reads_texture(1, "quads");
                let text = if self.inverse() {
                    store_image(text, 2, Access::Samples)
                } else {
                    store_coefficients(text, 2, level, Access::Samples)
                };
                text.body(include_str!("quads_store.wgsl"))
            }
        };
        let grid = Self::grid(level);
        Ok(own(
            self,
            pass,
            Dispatch::compute(text.text(), &params, tiles(grid, 16, 16)),
        ))
    }
}

/// Width of the halo in quads: the reach of all steps.
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
