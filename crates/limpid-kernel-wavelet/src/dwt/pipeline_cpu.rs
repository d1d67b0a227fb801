//! The passes of the separable pipeline on the CPU: plain loops, line by line, for tests of plans made for a GPU.

use super::pipeline::{AxisPass, PassAxis, steps};
use super::plane::halves;
use limpid_plan::Job;
use limpid_wavelet::mirrored;

impl AxisPass {
    /// All steps on a line with its samples in their order. Steps mirror their inputs, which is the same as mirroring the line.
    fn lift_line(&self, line: &mut [f32]) {
        let n = line.len();
        for step in steps(&self.level.lifting, self.inverse()) {
            for at in (step.changes..n).step_by(2) {
                let first = (at / 2) as i64;
                let other = 1 - step.changes as i64;
                let value = |(k, v): (i32, f64)| {
                    let from = mirrored(2 * (first + i64::from(k)) + other, n);
                    (step.sign * v) as f32 * line[from]
                };
                let sum: f32 = step.taps.iter().map(value).sum();
                line[at] += sum;
            }
        }
    }

    /// Fills a line with `value(low or high, index)`, or with samples as they are.
    fn load(&self, line: &mut Vec<f32>, n: usize, value: &dyn Fn(usize, usize) -> f32) {
        line.clear();
        let odd = |i: usize| match self.inverse() && n == 1 && i == 1 {
            true => 0.0,
            false => value(i % 2, i.min(n - 1) / 2),
        };
        // A line of one sample is constant beyond it, and has no high coefficients.
        line.extend((0..n.max(2)).map(odd));
    }

    pub(super) fn lines(&self, job: &mut Job<'_>) {
        let (w, h) = (self.level.size.width, self.level.size.height);
        let (lw, lh) = (halves(w).0, halves(h).0);
        let back = self.inverse();
        let scales = self.level.scales();
        // Factor of a coefficient, by its column and whether its row is high.
        let scale = |x: usize, high: usize| {
            let s = scales[usize::from(x >= lw) + high];
            if back { 1.0 / s } else { s }
        };
        let mut line = Vec::with_capacity(w.max(h).max(2));
        for plane in 0..job.writes[0].planes() {
            match self.axis {
                PassAxis::Rows => {
                    for y in 0..h {
                        let src = &job.reads[0].plane(plane)[y * w..][..w];
                        self.load(&mut line, w, &|odd, i| match back {
                            true => src[odd * lw + i],
                            false => src[(2 * i + odd).min(w - 1)],
                        });
                        self.lift_line(&mut line);
                        let dst = &mut job.writes[0].band(plane)[y * w..][..w];
                        for (i, v) in line[..w].iter().enumerate() {
                            let to = if back { i } else { i % 2 * lw + i / 2 };
                            dst[to] = *v;
                        }
                    }
                }
                PassAxis::Columns if back => {
                    let stride = job.reads[0].size().width;
                    let packed = job.reads[0].plane(plane);
                    let low = job.reads.get(1).filter(|_| !self.level.deepest);
                    let low = low.map(|slot| slot.plane(plane));
                    for x in 0..w {
                        self.load(&mut line, h, &|odd, i| {
                            let v = match (low, odd) {
                                (Some(low), 0) if x < lw => low[i * lw + x],
                                _ => packed[(odd * lh + i) * stride + x],
                            };
                            v * scale(x, odd)
                        });
                        self.lift_line(&mut line);
                        let dst = job.writes[0].band(plane);
                        for (y, v) in line[..h].iter().enumerate() {
                            dst[y * w + x] = *v;
                        }
                    }
                }
                PassAxis::Columns => {
                    let src = job.reads[0].plane(plane);
                    let stride = job.writes[0].size().width;
                    for x in 0..w {
                        self.load(&mut line, h, &|odd, i| {
                            src[(2 * i + odd).min(h - 1) * w + x]
                        });
                        self.lift_line(&mut line);
                        let [packed, rest @ ..] = &mut job.writes[..] else {
                            return;
                        };
                        for (i, v) in line[..h].iter().enumerate() {
                            let (odd, v) = (i % 2, v * scale(x, i % 2));
                            match rest.first_mut().filter(|_| odd == 0 && x < lw) {
                                Some(low) => low.band(plane)[i / 2 * lw + x] = v,
                                None => packed.band(plane)[(odd * lh + i / 2) * stride + x] = v,
                            }
                        }
                    }
                }
            }
        }
    }
}
