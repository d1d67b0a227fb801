//! Variances: from two buffers, scaled from samples, and seen from the image alone.

use super::per_pixel;
use crate::Result;
use crate::definition::rdfc::LEAST_OF_FOUR;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};

/// Operations on single values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Point {
    /// `(a - b) / 2`.
    HalfDifference,
    /// The squares of a slot's planes from this one on.
    Square {
        /// First plane read.
        first: usize,
    },
    /// `a · b / c`, 0 where `c` is: `SCALESAMPLEVAR`.
    Scale,
    /// Zeros, with the planes of what is read.
    Zero,
}

impl Kernel for Point {
    fn name(&self) -> &'static str {
        match self {
            Self::HalfDifference => "half-difference",
            Self::Square { .. } => "square",
            Self::Scale => "scale",
            Self::Zero => "zero",
        }
    }

    fn contract(&self) -> Contract {
        let reads = match self {
            Self::HalfDifference => 2,
            Self::Square { .. } | Self::Zero => 1,
            Self::Scale => 3,
        };
        Contract::rows(reads, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for c in 0..job.writes[0].planes() {
            for y in job.rows.clone() {
                let row = |k: usize| job.reads[k].row(c, y);
                let out = job.writes[0].row(c, y);
                match self {
                    Self::HalfDifference => {
                        for ((o, a), b) in out.iter_mut().zip(row(0)).zip(row(1)) {
                            *o = 0.5 * (a - b);
                        }
                    }
                    Self::Square { first } => {
                        for (o, a) in out.iter_mut().zip(job.reads[0].row(first + c, y)) {
                            *o = a * a;
                        }
                    }
                    Self::Scale => {
                        for (((o, a), b), c) in out.iter_mut().zip(row(0)).zip(row(1)).zip(row(2)) {
                            *o = if *c > 0.0 { a * (b / c) } else { 0.0 };
                        }
                    }
                    Self::Zero => out.fill(0.0),
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let value = match self {
            Self::HalfDifference => "0.5 * (read0[at] - read1[at])".to_owned(),
            Self::Square { first } => {
                let v = format!("read0[at + {first}u * p.pixels]");
                format!("{v} * {v}")
            }
            // The division is made on its own: where the mean is 0, its result is not used.
            Self::Scale => {
                "select(0.0, read0[at] * (read1[at] / read2[at]), read2[at] > 0.0)".to_owned()
            }
            Self::Zero => "0.0 * read0[at]".to_owned(),
        };
        let body = format!(
            "    for (var c = 0u; c < p.planes; c++) {{\n        \
                 let at = c * p.pixels + i;\n        write0[at] = {value};\n    }}\n"
        );
        Ok(per_pixel(site, "", &body))
    }
}

/// The least of the squared second differences in four directions, over what white noise of variance 1 has: to be
/// averaged ([`crate::definition::rdfc::image_variance`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImageVariance;

impl Kernel for ImageVariance {
    fn name(&self) -> &'static str {
        "image-variance"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let src = &job.reads[0];
        let (width, height) = (src.size().width, src.size().height);
        for c in 0..src.planes() {
            for y in job.rows.clone() {
                let here = src.row(c, y);
                let beside =
                    (y > 0 && y + 1 < height).then(|| (src.row(c, y - 1), src.row(c, y + 1)));
                for (x, out) in job.writes[0].row(c, y).iter_mut().enumerate() {
                    let between = x > 0 && x + 1 < width;
                    let (mut least, mut found) = (f32::INFINITY, 0);
                    let mut look = |sum: f32| {
                        let e = sum - 2.0 * here[x];
                        least = least.min(e * e);
                        found += 1;
                    };
                    if between {
                        look(here[x - 1] + here[x + 1]);
                    }
                    if let Some((top, bottom)) = beside {
                        look(top[x] + bottom[x]);
                        if between {
                            look(top[x - 1] + bottom[x + 1]);
                            look(bottom[x - 1] + top[x + 1]);
                        }
                    }
                    *out = match found {
                        0 => 0.0,
                        1 => least / 6.0,
                        _ => least / (6.0 * LEAST_OF_FOUR),
                    };
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let look = "fn look(least: f32, at: u32, other: u32, here: f32) -> f32 {
    let e = read0[at] + read0[other] - 2.0 * here;
    return min(least, e * e);
}
";
        let body = format!(
            "    let between = x > 0u && x + 1u < p.width;
    let beside = y > 0u && y + 1u < p.height;
    for (var c = 0u; c < p.planes; c++) {{
        let at = c * p.pixels + i;
        let here = read0[at];
        var least = 3e38;
        var scale = 0.0;
        if between {{
            least = look(least, at - 1u, at + 1u, here);
            scale = {};
        }}
        if beside {{
            least = look(least, at - p.width, at + p.width, here);
            scale = {};
            if between {{
                least = look(least, at - p.width - 1u, at + p.width + 1u, here);
                least = look(least, at + p.width - 1u, at - p.width + 1u, here);
                scale = {};
            }}
        }}
        write0[at] = select(0.0, least * scale, scale > 0.0);
    }}
",
            1.0 / 6.0,
            1.0 / 6.0,
            1.0 / (6.0 * LEAST_OF_FOUR),
        );
        Ok(per_pixel(site, look, &body))
    }
}
