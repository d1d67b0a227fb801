//! Takes noise out of a feature before it guides a filter: depth of field and motion blur make features noisy too.
//!
//! A mean over a 7×7 window of pixels that differ no more than the feature's own variance explains
//! ([`crate::definition::atrous::prefilter`]). Without variance a feature stays what it is.

use super::fast_exp::fast_exp;
use super::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};
use crate::definition::atrous::{PREFILTER_LEAST, PREFILTER_RADIUS as RADIUS};
use crate::{Result, params};
use fearless_simd::{Simd, dispatch};

/// The filter. Reads a feature and its variance, of as many planes; writes the feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefilter;

params! {
    /// Parameters of the shader.
    struct Params { width: u32, height: u32 }
}

impl Kernel for Prefilter {
    fn name(&self) -> &'static str {
        "prefilter"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, RADIUS)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => rows(simd, job));
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (size, planes) = (site.writes[0].size, site.writes[0].planes);
        let each = |line: &dyn Fn(usize) -> String| (0..planes).map(line).collect::<String>();
        let plane = |k: usize, at: &str| format!("[{k}u * p.width * p.height + {at}]");
        let distances = each(&|k| {
            format!(
                "            let d{k} = src{here} - src{there};\n            far += d{k} * d{k};\n            \
                 v += spread{here} + min(spread{here}, spread{there});\n",
                here = plane(k, "i"),
                there = plane(k, "q")
            )
        });
        let sums = each(&|k| format!("            sum[{k}] += w * src{};\n", plane(k, "q")));
        let stores = each(&|k| format!("    dst{} = sum[{k}] / weights;\n", plane(k, "i")));
        let source = format!(
            "{}@group(0) @binding(1) var<storage, read> src: array<f32>;
@group(0) @binding(2) var<storage, read> spread: array<f32>;
@group(0) @binding(3) var<storage, read_write> dst: array<f32>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
    let x = i32(group.x * 32u + lane % 32u);
    let y = i32(group.y * 8u + lane / 32u);
    if x >= i32(p.width) || y >= i32(p.height) {{
        return;
    }}
    let i = u32(y) * p.width + u32(x);
    var sum: vec3<f32>;
    var weights = 0.0;
    for (var qy = max(y - {RADIUS}, 0); qy <= min(y + {RADIUS}, i32(p.height) - 1); qy++) {{
        for (var qx = max(x - {RADIUS}, 0); qx <= min(x + {RADIUS}, i32(p.width) - 1); qx++) {{
            let q = u32(qy) * p.width + u32(qx);
            var far = 0.0;
            var v = 0.0;
{distances}            let w = fast_exp(-max(far - v, 0.0) / (v + {PREFILTER_LEAST:?}));
{sums}            weights += w;
        }}
    }}
{stores}}}
",
            Params::WGSL
        );
        let params = Params {
            width: size.width as u32,
            height: size.height as u32,
        };
        Ok(Dispatch::compute(source, &params, tiles(size, 32, 8)))
    }
}

#[inline(always)]
fn rows<S: Simd>(_simd: S, job: &mut Job<'_>) {
    let (feature, variance) = (job.reads[0].clone(), job.reads[1].clone());
    let size = feature.size();
    let planes = feature.planes().min(3);
    for y in job.rows.clone() {
        for x in 0..size.width {
            let (mut sum, mut weights) = ([0.0f32; 3], 0.0);
            for qy in y.saturating_sub(RADIUS)..(y + RADIUS + 1).min(size.height) {
                for qx in x.saturating_sub(RADIUS)..(x + RADIUS + 1).min(size.width) {
                    let (mut d2, mut v) = (0.0, 0.0);
                    for k in 0..planes {
                        let d = feature.row(k, y)[x] - feature.row(k, qy)[qx];
                        let (own, other) = (variance.row(k, y)[x], variance.row(k, qy)[qx]);
                        d2 += d * d;
                        v += own + own.min(other);
                    }
                    let w = fast_exp(-(d2 - v).max(0.0) / (v + PREFILTER_LEAST));
                    for k in 0..planes {
                        sum[k] += w * feature.row(k, qy)[qx];
                    }
                    weights += w;
                }
            }
            for k in 0..planes {
                job.writes[0].row(k, y)[x] = sum[k] / weights;
            }
        }
    }
}
