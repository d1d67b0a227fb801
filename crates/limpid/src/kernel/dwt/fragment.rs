//! A level in passes over textures of quads, one fragment pass per step (Kula 2021, chapter 6).
//!
//! A texel is a quad. Around the image stand as many quads as all steps reach, mirrored at first; so they stay what a
//! mirrored image would give, whatever a step computes. Lifting that does not keep a mirrored signal mirrored has no such
//! margin: its steps read samples at their mirrored places.

use super::emit::{Access, load_coefficients, load_image, mirror, store_coefficients, store_image};
use super::plane::halves;
use super::{Level, Params, keeps_mirrored};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};
use crate::plan::Home;
use crate::wavelet::{Direction, Matrix, Scheme, mirrored};
use crate::{Result, Size};
use std::fmt::Write;

/// What a pass does.
#[derive(Debug, Clone)]
pub(crate) enum Part {
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
    pub part: Part,
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
            Part::Load => "dwt-quads",
            Part::Step(_) => "dwt-step",
            Part::Store => "dwt-from-quads",
        }
    }

    fn contract(&self) -> Contract {
        let whole = self.level.contract();
        match self.part {
            Part::Load => Contract::whole(whole.reads, 1),
            Part::Step(_) => Contract::whole(1, 1),
            Part::Store => Contract::whole(1, whole.writes),
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let grid = Self::grid(&self.level);
        let around = margin(&self.level) as i64;
        for y in 0..grid.height {
            for x in 0..grid.width {
                let quad = match &self.part {
                    Part::Load => self.load(job, (x as i64 - around, y as i64 - around)),
                    Part::Step(matrix) => self.step(matrix, job, (x, y)),
                    Part::Store => {
                        let quad = job.reads[0].row_as::<[f32; 4]>(0, y)[x];
                        self.store(job, (x as i64 - around, y as i64 - around), quad);
                        continue;
                    }
                };
                job.writes[0].row_as::<[f32; 4]>(0, y)[x] = quad;
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let level = &self.level;
        let packed = match (&self.part, self.inverse()) {
            (Part::Load, true) => site.reads[0].size,
            (Part::Store, false) => site.writes[0].size,
            _ => level.size,
        };
        let params = level.params(packed);
        let body = match &self.part {
            Part::Step(matrix) => {
                let text = format!("{}{}", Params::WGSL, self.shader(matrix));
                return Ok(Dispatch::own_fragment(text, &params));
            }
            Part::Load => {
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
            Part::Store => {
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

impl Quads {
    fn load(&self, job: &Job<'_>, (x, y): (i64, i64)) -> [f32; 4] {
        let Size { width, height } = self.level.size;
        let scales = self.level.scales();
        std::array::from_fn(|c| {
            let (px, py) = (c % 2, c / 2);
            let at = (
                mirrored(2 * x + px as i64, width),
                mirrored(2 * y + py as i64, height),
            );
            if !self.inverse() {
                return job.reads[0].row(self.plane, at.1)[at.0];
            }
            // A line of one sample has no high coefficients.
            if (px == 1 && width == 1) || (py == 1 && height == 1) {
                return 0.0;
            }
            let (lw, lh) = (halves(width).0, halves(height).0);
            let from = match (c, job.reads.get(1)) {
                (0, Some(low)) => low,
                _ => &job.reads[0],
            };
            from.row(self.plane, at.1 / 2 + py * lh)[at.0 / 2 + px * lw] / scales[px + py]
        })
    }

    fn store(&self, job: &mut Job<'_>, (x, y): (i64, i64), quad: [f32; 4]) {
        let Size { width, height } = self.level.size;
        let scales = self.level.scales();
        let (lw, lh) = (halves(width).0, halves(height).0);
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
            return;
        };
        for (c, v) in quad.into_iter().enumerate() {
            let (px, py) = (c % 2, c / 2);
            if 2 * x + px >= width || 2 * y + py >= height {
                continue;
            }
            if self.inverse() {
                job.writes[0].row(self.plane, 2 * y + py)[2 * x + px] = v;
                continue;
            }
            let to = usize::from(c == 0 && job.writes.len() > 1);
            job.writes[to].row(self.plane, y + py * lh)[x + px * lw] = v * scales[px + py];
        }
    }

    /// The new quad at a place.
    fn step(&self, matrix: &Matrix, job: &Job<'_>, (x, y): (usize, usize)) -> [f32; 4] {
        let (size, grid) = (self.level.size, Self::grid(&self.level));
        let place = |q: usize, d: i32, parity: usize, n: usize, last: usize| {
            let at = q as i64 + i64::from(d);
            if margin(&self.level) > 0 {
                return at.clamp(0, last as i64) as usize;
            }
            mirrored(2 * at + parity as i64, n) / 2
        };
        let sample = |dx: i32, dy: i32, c: usize| {
            let x = place(x, dx, c % 2, size.width, grid.width - 1);
            let y = place(y, dy, c / 2, size.height, grid.height - 1);
            job.reads[0].row_as::<[f32; 4]>(0, y)[x][c]
        };
        std::array::from_fn(|row| {
            let mut sum = 0.0;
            for column in 0..4 {
                for ((dx, dy), c) in matrix.entry(row, column).terms() {
                    let own = row == column && (dx, dy) == (0, 0);
                    sum += c as f32
                        * if own {
                            job.reads[0].row_as::<[f32; 4]>(0, y)[x][column]
                        } else {
                            sample(dx, dy, column)
                        };
                }
            }
            sum
        })
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
