//! Colours as one bright and two colourful channels.

use super::{Params, params};
use crate::Result;
use crate::definition::shrink::OPPONENT;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};

/// Rotates colours; see [`OPPONENT`].
#[derive(Debug, Clone, Copy)]
pub struct Opponent {
    /// Whether back to red, green and blue.
    pub back: bool,
}

impl Opponent {
    fn entry(self, row: usize, column: usize) -> f32 {
        if self.back {
            OPPONENT[column][row]
        } else {
            OPPONENT[row][column]
        }
    }
}

impl Kernel for Opponent {
    fn name(&self) -> &'static str {
        "opponent"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for y in job.rows.clone() {
            let [r, g, b] = [0, 1, 2].map(|c| job.reads[0].row(c, y));
            for c in 0..3 {
                let [p, q, s] = [0, 1, 2].map(|k| self.entry(c, k));
                let to = job.writes[0].row(c, y).iter_mut();
                to.zip(r.iter().zip(g).zip(b))
                    .for_each(|(v, ((r, g), b))| *v = p * r + q * g + s * b);
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let size = site.reads[0].size;
        let row = |c: usize| {
            format!(
                "vec3<f32>({:?}, {:?}, {:?})",
                self.entry(c, 0),
                self.entry(c, 1),
                self.entry(c, 2)
            )
        };
        let source = format!(
            "{}const R0 = {};\nconst R1 = {};\nconst R2 = {};\n{}",
            Params::WGSL,
            row(0),
            row(1),
            row(2),
            include_str!("opponent.wgsl")
        );
        Ok(Dispatch::compute(
            source,
            &params(size, 3, (0, 0), 0.0),
            tiles(size, 16, 16),
        ))
    }
}
