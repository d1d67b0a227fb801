//! Features on a common scale, classes of pixels, and what colour is divided by.

use super::per_pixel;
use crate::Result;
use crate::definition::front::{BLACK, DARK, Depth, EMITTER, EMITTING, FAR, MISS, SURFACE};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};
use std::fmt::Write;

/// See `definition::front::surface`. Reads: albedo, normal, depth, position, as far as they are there; the colour when
/// none is. Writes: classes, the divisor, and the features if there are any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Surface {
    /// Whether there is albedo.
    pub(crate) albedo: bool,
    /// Whether there are normals.
    pub(crate) normal: bool,
    /// The range of the logarithm of depth, if there is depth.
    pub(crate) depth: Option<Depth>,
    /// What position is multiplied by, if it is there.
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

impl Kernel for Surface {
    fn name(&self) -> &'static str {
        "surface"
    }

    fn contract(&self) -> Contract {
        let reads = self.places().iter().flatten().count();
        Contract::rows(reads.max(1), 2 + usize::from(self.planes() > 0), 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let [albedo, normal, depth, position] = self.places();
        let channels = job.writes[1].planes();
        for y in job.rows.clone() {
            let reads = &job.reads;
            let row = |read: usize, c: usize| reads[read].row(c, y);
            for x in 0..job.writes[0].size().width {
                let three = |read: usize| [0, 1, 2].map(|c| row(read, c)[x]);
                let (a, n) = (albedo.map(three), normal.map(three));
                let d = depth.map(|read| row(read, 0)[x]);
                let nothing = match (d, n) {
                    (Some(d), _) => d <= 0.0 || d >= FAR,
                    (None, Some(n)) => n.iter().all(|n| n.abs() < 1e-2),
                    (None, None) => false,
                };
                let most = a.map(|a| a.into_iter().fold(0.0f32, f32::max));
                let emits = most.is_some_and(|m| !(BLACK..=EMITTING).contains(&m));
                let class = if nothing {
                    MISS
                } else if emits {
                    EMITTER
                } else {
                    SURFACE
                };
                job.writes[0].row(0, y)[x] = class;
                let a = a.map(|a| a.map(|v| v.clamp(0.0, 1.0)));
                for c in 0..channels {
                    job.writes[1].row(c, y)[x] = match a {
                        Some(a) if self.divide && class == SURFACE && channels == 1 => {
                            (a[0] + a[1] + a[2]) / 3.0 + DARK
                        }
                        Some(a) if self.divide && class == SURFACE => a[c] + DARK,
                        _ => 1.0,
                    } / self.exposure;
                }
                let mut plane = 0;
                let mut put = |v: f32| {
                    job.writes[2].row(plane, y)[x] = v;
                    plane += 1;
                };
                a.into_iter().flatten().for_each(&mut put);
                n.into_iter()
                    .flatten()
                    .for_each(|v| put(v.clamp(-1.0, 1.0)));
                if let (Some(d), Some(range)) = (d, self.depth) {
                    let far = d.max(1e-30).ln().clamp(range.low, range.high) - range.middle;
                    put(if nothing { 0.0 } else { far });
                }
                if let (Some(read), Some(scale)) = (position, self.position) {
                    three(read).into_iter().for_each(|v| put(scale * v));
                }
            }
        }
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
            // Nothing tells, but the slot has to be read.
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
