//! Noise of features, seen from the features alone.

use super::per_pixel;
use crate::Result;
use crate::definition::front::{NOISE_FLOOR, noise_share};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};

/// The logarithm of the squared difference of a pixel and the mean of its four neighbours, averaged over planes: to be averaged
/// ([`crate::definition::front::feature_noise`]). Reads one slot, writes one plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FeatureNoise;

impl Kernel for FeatureNoise {
    fn name(&self) -> &'static str {
        "feature-noise"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let src = &job.reads[0];
        let (last, bottom) = (src.size().width - 1, src.size().height - 1);
        for y in job.rows.clone() {
            let out = job.writes[0].row(0, y);
            out.fill(0.0);
            for c in 0..src.planes() {
                let row = |y: usize| src.row(c, y);
                let (up, here, down) = (row(y.saturating_sub(1)), row(y), row((y + 1).min(bottom)));
                for (x, o) in out.iter_mut().enumerate() {
                    let beside = here[x.saturating_sub(1)] + here[(x + 1).min(last)];
                    let off = 0.25 * (beside + (up[x] + down[x])) - here[x];
                    *o += off * off;
                }
            }
            let over = 0.8 / src.planes() as f32;
            for o in out.iter_mut() {
                *o = (*o * over + NOISE_FLOOR).ln();
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let planes = site.reads[0].planes;
        let body = format!(
            "    let up = select(i - p.width, i, y == 0u);
    let down = select(i + p.width, i, y + 1u == p.height);
    let left = select(i - 1u, i, x == 0u);
    let right = select(i + 1u, i, x + 1u == p.width);
    var sum = 0.0;
    for (var c = 0u; c < {planes}u; c++) {{
        let base = c * p.pixels;
        let around = (read0[base + left] + read0[base + right]) + (read0[base + up] + read0[base + down]);
        let off = 0.25 * around - read0[base + i];
        sum += off * off;
    }}
    write0[i] = log(sum * p.a + p.b);
"
        );
        let over = 0.8 / planes as f32;
        Ok(per_pixel(site, [over, NOISE_FLOOR, 0.0, 0.0], "", &body))
    }
}

/// A mean of such logarithms as a variance, in all planes of the slot written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NoiseScale;

impl Kernel for NoiseScale {
    fn name(&self) -> &'static str {
        "noise-scale"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let planes = job.writes[0].planes();
        let over = 1.0 / noise_share(planes);
        for c in 0..planes {
            for y in job.rows.clone() {
                let from = job.reads[0].row(0, y);
                for (o, v) in job.writes[0].row(c, y).iter_mut().zip(from) {
                    *o = (v.exp() - NOISE_FLOOR).max(0.0) * over;
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let over = 1.0 / noise_share(site.writes[0].planes);
        let body = "    let v = max(exp(read0[i]) - p.a, 0.0) * p.b;
    for (var c = 0u; c < p.planes; c++) { write0[c * p.pixels + i] = v; }
";
        Ok(per_pixel(site, [NOISE_FLOOR, over, 0.0, 0.0], "", body))
    }
}
