//! `max(Var, |∇f|²)`: what features may differ by (Vicini 2015, Eq. 3.10).

use super::per_pixel;
use crate::Result;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};

/// The larger of variance and squared gradient. Reads values and their variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast;

impl Kernel for Contrast {
    fn name(&self) -> &'static str {
        "contrast"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let (values, variance) = (&job.reads[0], &job.reads[1]);
        let (width, height) = (values.size().width, values.size().height);
        for c in 0..values.planes() {
            for y in job.rows.clone() {
                let (t, b) = (y.saturating_sub(1), (y + 1).min(height - 1));
                let down = 1.0 / (b - t).max(1) as f32;
                let (here, top, bottom) = (values.row(c, y), values.row(c, t), values.row(c, b));
                let variance = variance.row(c, y);
                let out = job.writes[0].row(c, y);
                for x in 0..width {
                    let (l, r) = (x.saturating_sub(1), (x + 1).min(width - 1));
                    let dx = (here[r] - here[l]) * (1.0 / (r - l).max(1) as f32);
                    let dy = (bottom[x] - top[x]) * down;
                    out[x] = variance[x].max(dx * dx + dy * dy);
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(per_pixel(
            site,
            "",
            "    let l = max(x, 1u) - 1u;
    let r = min(x + 1u, p.width - 1u);
    let t = max(y, 1u) - 1u;
    let b = min(y + 1u, p.height - 1u);
    for (var c = 0u; c < p.planes; c++) {
        let base = c * p.pixels;
        let dx = (read0[base + y * p.width + r] - read0[base + y * p.width + l]) / f32(max(r - l, 1u));
        let dy = (read0[base + b * p.width + x] - read0[base + t * p.width + x]) / f32(max(b - t, 1u));
        write0[base + i] = max(read1[base + i], dx * dx + dy * dy);
    }
",
        ))
    }
}
