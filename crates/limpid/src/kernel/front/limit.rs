//! Limits for outliers.

use super::per_pixel;
use crate::definition::front::{ITSELF, OTHER, WINDOW};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};
use crate::{Result, Size};
use fearless_simd::{Simd, dispatch};

/// A picture with its outliers limited (`definition::front`). Reads: the picture, its brightness, the brightness that
/// limits it, classes. Writes: the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limit {
    /// Whether it is limited by another buffer, not by itself.
    pub(crate) by_other: bool,
    /// Brightness that is always allowed.
    pub(crate) floor: f32,
    /// How far apart the pixels are that are compared.
    pub(crate) step: usize,
}

impl Limit {
    const fn rank(self) -> usize {
        if self.by_other { OTHER.0 } else { ITSELF.0 }
    }
}

impl Kernel for Limit {
    fn name(&self) -> &'static str {
        "limit"
    }

    fn contract(&self) -> Contract {
        Contract::rows(4, 1, WINDOW * self.step)
    }

    fn scratch(&self, size: Size) -> usize {
        (self.rank() + 1) * size.width
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => limit(simd, job, *self));
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let rank = self.rank();
        let (limit, factor) = if self.by_other {
            ("max(p.b * top[RANK - 1], read2[i]) + p.a", OTHER.1)
        } else {
            (
                "select(select(3.0e38, p.b * top[0] + p.a, top[0] >= 0.0), p.b * top[RANK - 1] + p.a, top[RANK - 1] >= 0.0)",
                ITSELF.1,
            )
        };
        let counts = if self.by_other {
            "true"
        } else {
            "(dx != 0 || dy != 0)"
        };
        let functions = format!("const RANK: i32 = {rank};\n");
        let body = format!(
            "    var top: array<f32, RANK>;
    for (var k = 0; k < RANK; k++) {{ top[k] = -1.0; }}
    let own = read3[i];
    for (var dy = -{WINDOW}; dy <= {WINDOW}; dy++) {{
        for (var dx = -{WINDOW}; dx <= {WINDOW}; dx++) {{
            let q = vec2(i32(x) + dx * i32(p.c), i32(y) + dy * i32(p.c));
            if q.x < 0 || q.y < 0 || q.x >= i32(p.width) || q.y >= i32(p.height) {{ continue; }}
            let j = q.y * i32(p.width) + q.x;
            var v = select(-1.0, max(read2[j], 0.0), read3[j] == own && {counts});
            for (var k = 0; k < RANK; k++) {{
                let t = top[k];
                top[k] = max(t, v);
                v = min(t, v);
            }}
        }}
    }}
    let limit = {limit};
    let bright = read1[i];
    let scale = select(1.0, limit / bright, bright > limit);
    for (var c = 0u; c < p.planes; c++) {{
        write0[c * p.pixels + i] = read0[c * p.pixels + i] * scale;
    }}
"
        );
        Ok(per_pixel(
            site,
            [self.floor, factor, self.step as f32, 0.0, 0.0],
            &functions,
            &body,
        ))
    }
}

#[inline(always)]
fn limit<S: Simd>(_simd: S, job: &mut Job<'_>, limit: Limit) {
    let size = job.writes[0].size();
    let (w, r, step) = (size.width, WINDOW as i64, limit.step as i64);
    let rank = limit.rank();
    for y in job.rows.clone() {
        let (top, line) = job.scratch[..(rank + 1) * w].split_at_mut(rank * w);
        top.fill(-1.0);
        let class = job.reads[3].row(0, y);
        for dy in -r..=r {
            let j = y as i64 + dy * step;
            if j < 0 || j >= size.height as i64 {
                continue;
            }
            let (bright, classes) = (
                job.reads[2].row(0, j as usize),
                job.reads[3].row(0, j as usize),
            );
            for dx in -r..=r {
                if !limit.by_other && dx == 0 && dy == 0 {
                    continue;
                }
                let dx = dx * step;
                let from = (-dx).max(0) as usize;
                let until = (w as i64 - dx.max(0)).max(from as i64) as usize;
                let n = until - from;
                let shifted = (from as i64 + dx) as usize;
                let n = n.min(w.saturating_sub(shifted));
                let v = &mut line[..n];
                let (b, q, p) = (
                    &bright[shifted.min(w)..][..n],
                    &classes[shifted.min(w)..][..n],
                    &class[from.min(w)..][..n],
                );
                for x in 0..n {
                    v[x] = if q[x] == p[x] { b[x].max(0.0) } else { -1.0 };
                }
                for top in top.chunks_exact_mut(w) {
                    let top = &mut top[from.min(w)..][..n];
                    for x in 0..n {
                        let (t, u) = (top[x], v[x]);
                        top[x] = t.max(u);
                        v[x] = t.min(u);
                    }
                }
            }
        }
        let (bright, other) = (job.reads[1].row(0, y), job.reads[2].row(0, y));
        let last = &top[(rank - 1) * w..];
        for x in 0..w {
            let allowed = if limit.by_other {
                (OTHER.1 * last[x]).max(other[x]) + limit.floor
            } else if last[x] >= 0.0 {
                ITSELF.1 * last[x] + limit.floor
            } else if top[x] >= 0.0 {
                ITSELF.1 * top[x] + limit.floor
            } else {
                f32::MAX
            };
            line[x] = if bright[x] > allowed {
                allowed / bright[x]
            } else {
                1.0
            };
        }
        for c in 0..job.writes[0].planes() {
            let from = job.reads[0].row(c, y);
            for ((o, v), s) in job.writes[0].row(c, y).iter_mut().zip(from).zip(&*line) {
                *o = v * s;
            }
        }
    }
}
