//! Features on a common scale, classes of pixels, and what colour is divided by.

use super::per_pixel;
use crate::Result;
use crate::definition::front::{BLACK, DARK, Depth, EMITTER, EMITTING, FAR, MISS, SURFACE};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site, ViewMut};
use crate::simd::dispatch;
use fearless_simd::Simd;
use std::fmt::Write;

/// See `definition::front::surface`. Reads: albedo, normal, depth, position, as far as they exist; the colour when
/// none is. Writes: classes, the divisor, and the features if there are any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Surface {
    /// Whether there is albedo.
    pub(crate) albedo: bool,
    /// Whether there are normals.
    pub(crate) normal: bool,
    /// The range of the logarithm of depth, if there is depth.
    pub(crate) depth: Option<Depth>,
    /// What position is multiplied by, if it exists.
    pub(crate) position: Option<f32>,
    /// Whether colour is divided by albedo.
    pub(crate) divide: bool,
    /// What colours are multiplied by to give a picture of ordinary brightness.
    pub(crate) exposure: f32,
}

impl Surface {
    /// Planes of the features.
    pub(crate) fn planes(&self) -> usize {
        self.sharp() + usize::from(self.depth.is_some()) + 3 * usize::from(self.position.is_some())
    }

    /// How many of them are albedo and normal.
    pub(crate) fn sharp(&self) -> usize {
        3 * (usize::from(self.albedo) + usize::from(self.normal))
    }

    /// The slots in which albedo, normal, depth and position are read.
    fn places(&self) -> [Option<usize>; 4] {
        let mut next = 0;
        [
            self.albedo,
            self.normal,
            self.depth.is_some(),
            self.position.is_some(),
        ]
        .map(|there| {
            there.then(|| {
                next += 1;
                next - 1
            })
        })
    }
}

impl Surface {
    #[inline(always)]
    fn rows<S: Simd>(&self, _simd: S, job: &mut Job<'_>) {
        let [albedo, normal, depth, position] = self.places();
        for y in job.rows.clone() {
            let reads = &job.reads;
            let row = |read: usize, c: usize| reads[read].row(c, y);
            let three = |read: usize| [row(read, 0), row(read, 1), row(read, 2)];
            let (a, n) = (albedo.map(three), normal.map(three));
            let d = depth.map(|read| row(read, 0));
            let class = job.writes[0].row(0, y);
            class.fill(SURFACE);
            if let Some([r, g, b]) = a {
                for x in 0..class.len() {
                    let most = r[x].max(g[x]).max(b[x].max(0.0));
                    let emits = !(BLACK..=EMITTING).contains(&most);
                    class[x] = if emits { EMITTER } else { SURFACE };
                }
            }
            match (d, n) {
                (Some(d), _) => {
                    for x in 0..class.len() {
                        let nothing = d[x] <= 0.0 || d[x] >= FAR;
                        class[x] = if nothing { MISS } else { class[x] };
                    }
                }
                (None, Some([u, v, w])) => {
                    for x in 0..class.len() {
                        let nothing = u[x].abs().max(v[x].abs()).max(w[x].abs()) < 1e-2;
                        class[x] = if nothing { MISS } else { class[x] };
                    }
                }
                (None, None) => {}
            }
            self.divisor(&mut job.writes, y, a);
            let mut plane = 0;
            if self.planes() == 0 {
                continue;
            }
            for (low, source) in [(0.0, a), (-1.0, n)] {
                for src in source.into_iter().flatten() {
                    let out = &mut job.writes[2].row(plane, y)[..src.len()];
                    for (o, v) in out.iter_mut().zip(src) {
                        *o = v.max(low).min(1.0);
                    }
                    plane += 1;
                }
            }
            if let (Some(d), Some(range)) = (d, self.depth) {
                let out = &mut job.writes[2].row(plane, y)[..d.len()];
                for (o, d) in out.iter_mut().zip(d) {
                    let far = ln(d.max(1e-30)).max(range.low).min(range.high) - range.middle;
                    *o = if *d <= 0.0 || *d >= FAR { 0.0 } else { far };
                }
                plane += 1;
            }
            if let (Some(read), Some(scale)) = (position, self.position) {
                for src in three(read) {
                    let out = &mut job.writes[2].row(plane, y)[..src.len()];
                    for (o, v) in out.iter_mut().zip(src) {
                        *o = scale * v;
                    }
                    plane += 1;
                }
            }
        }
    }

    /// What colour is divided by.
    #[inline(always)]
    fn divisor(&self, writes: &mut [ViewMut<'_>], y: usize, albedo: Option<[&[f32]; 3]>) {
        let channels = writes[1].planes();
        let over = 1.0 / self.exposure;
        let (classes, divisors) = writes.split_at_mut(1);
        let class = &*classes[0].row(0, y);
        for c in 0..channels {
            let out = &mut divisors[0].row(c, y)[..class.len()];
            let Some(albedo) = albedo.filter(|_| self.divide) else {
                out.fill(over);
                continue;
            };
            let one = |v: f32| v.clamp(0.0, 1.0);
            for x in 0..class.len() {
                let a = match channels {
                    1 => (one(albedo[0][x]) + one(albedo[1][x]) + one(albedo[2][x])) / 3.0,
                    _ => one(albedo[c][x]),
                };
                let by = if class[x] == SURFACE { a + DARK } else { 1.0 };
                out[x] = by / self.exposure;
            }
        }
    }
}

/// The natural logarithm of a positive number that is not denormal, to 2e-7 of 1 or of itself; loops over it vectorise.
#[inline(always)]
fn ln(x: f32) -> f32 {
    // x = 2^e m with m in √½ … √2.
    let bits = x.to_bits().wrapping_sub(0x3f35_04f3);
    let e = (bits as i32 >> 23) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(0x3f35_04f3));
    // ln m = 2 artanh((m - 1) / (m + 1)).
    let t = (m - 1.0) / (m + 1.0);
    let t2 = t * t;
    let series = 1.0 + t2 * (1.0 / 3.0 + t2 * (0.2 + t2 * (1.0 / 7.0 + t2 / 9.0)));
    e * std::f32::consts::LN_2 + 2.0 * t * series
}

impl Kernel for Surface {
    fn name(&self) -> &'static str {
        "surface"
    }

    fn contract(&self) -> Contract {
        let reads = self.places().iter().flatten().count();
        Contract::rows(reads.max(1), 2 + usize::from(self.planes() > 0), 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => self.rows(simd, job));
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let [albedo, normal, depth, position] = self.places();
        let channels = site.writes[1].planes;
        let three = |read: usize| {
            let at = |c: usize| format!("read{read}[{c}u * p.pixels + i]");
            format!("vec3({}, {}, {})", at(0), at(1), at(2))
        };
        // Writing to a string cannot fail.
        let mut body = String::new();
        let _ = match (depth, normal, albedo, position) {
            (Some(d), ..) => writeln!(
                body,
                "    let z = read{d}[i];\n    let nothing = z <= 0.0 || z >= {FAR:e}f;"
            ),
            (None, Some(n), ..) => writeln!(
                body,
                "    let nothing = all(abs({}) < vec3(1e-2));",
                three(n)
            ),
            // There is nothing to decide, but the slot has to be read.
            _ => writeln!(body, "    let nothing = read0[i] > 3.4e38;"),
        };
        let _ = match albedo {
            Some(a) => writeln!(
                body,
                "    let albedo = {};
    let most = max(max(albedo.x, albedo.y), max(albedo.z, 0.0));
    let emits = most < {BLACK:e}f || most > {EMITTING:e}f;
    let color = clamp(albedo, vec3(0.0), vec3(1.0));",
                three(a)
            ),
            None => writeln!(body, "    let emits = false;"),
        };
        let _ = writeln!(
            body,
            "    write0[i] = select(select({SURFACE:e}f, {EMITTER:e}f, emits), {MISS:e}f, nothing);"
        );
        for c in 0..channels {
            let divisor = match (albedo.is_some() && self.divide, channels) {
                (false, _) => "1.0".to_owned(),
                (true, 1) => format!(
                    "select((color.x + color.y + color.z) / 3.0 + {DARK:e}f, 1.0, nothing || emits)"
                ),
                (true, _) => format!("select(color[{c}] + {DARK:e}f, 1.0, nothing || emits)"),
            };
            let _ = writeln!(body, "    write1[{c}u * p.pixels + i] = ({divisor}) / p.e;");
        }
        let mut plane = 0;
        let mut put = |value: String| {
            let _ = writeln!(body, "    write2[{plane}u * p.pixels + i] = {value};");
            plane += 1;
        };
        if albedo.is_some() {
            (0..3).for_each(|c| put(format!("color[{c}]")));
        }
        if let Some(n) = normal {
            (0..3).for_each(|c| put(format!("clamp(read{n}[{c}u * p.pixels + i], -1.0, 1.0)")));
        }
        let range = self.depth.unwrap_or(Depth {
            low: 0.0,
            middle: 0.0,
            high: 0.0,
        });
        if depth.is_some() {
            put("select(clamp(log(max(z, 1e-30)), p.a, p.b) - p.c, 0.0, nothing)".to_owned());
        }
        if let Some(q) = position {
            (0..3).for_each(|c| put(format!("p.d * read{q}[{c}u * p.pixels + i]")));
        }
        let numbers = [
            range.low,
            range.high,
            range.middle,
            self.position.unwrap_or(0.0),
            self.exposure,
        ];
        Ok(per_pixel(site, numbers, "", &body))
    }
}

#[cfg(test)]
mod tests {
    use super::ln;

    #[test]
    fn the_logarithm_stays_within_its_error() {
        let mut x = 1e-30f32;
        while x < 1e30 {
            let exact = f64::from(x).ln();
            let error = (f64::from(ln(x)) - exact).abs() / exact.abs().max(1.0);
            assert!(error < 2e-7, "{x}: {error}");
            x *= 1.000_37;
        }
    }
}
