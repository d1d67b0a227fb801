//! The small operations around the constraints: scales, differences, errors, selection.

use super::per_pixel;
use crate::Result;
use crate::definition::patch::CLEARLY;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};

/// Operations on single values.
#[derive(Debug, Clone, PartialEq)]
pub enum Points {
    /// The larger of two.
    Larger,
    /// Each plane by its factor.
    Scaled(Vec<f32>),
}

impl Kernel for Points {
    fn name(&self) -> &'static str {
        match self {
            Self::Larger => "larger",
            Self::Scaled(_) => "scaled",
        }
    }

    fn contract(&self) -> Contract {
        let reads = match self {
            Self::Larger => 2,
            Self::Scaled(_) => 1,
        };
        Contract::rows(reads, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for c in 0..job.writes[0].planes() {
            for y in job.rows.clone() {
                let out = job.writes[0].row(c, y);
                let a = job.reads[0].row(c, y);
                match self {
                    Self::Larger => {
                        for ((o, a), b) in out.iter_mut().zip(a).zip(job.reads[1].row(c, y)) {
                            *o = a.max(*b);
                        }
                    }
                    Self::Scaled(factors) => {
                        for (o, a) in out.iter_mut().zip(a) {
                            *o = factors[c] * a;
                        }
                    }
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let mut body = String::new();
        for c in 0..site.writes[0].planes {
            let at = format!("{c}u * p.pixels + i");
            let value = match self {
                Self::Larger => format!("max(read0[{at}], read1[{at}])"),
                Self::Scaled(factors) => format!("{:e} * read0[{at}]", factors[c]),
            };
            body += &format!("    write0[{at}] = {value};\n");
        }
        Ok(per_pixel(site, "", &body))
    }
}

/// Differences to the right and downwards; 0 in the last column and row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Differences;

impl Kernel for Differences {
    fn name(&self) -> &'static str {
        "differences"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 2, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let image = &job.reads[0];
        let height = image.size().height;
        for c in 0..image.planes() {
            for y in job.rows.clone() {
                let here = image.row(c, y);
                let dx = job.writes[0].row(c, y);
                dx.fill(0.0);
                for (d, pair) in dx.iter_mut().zip(here.windows(2)) {
                    *d = pair[1] - pair[0];
                }
                let dy = job.writes[1].row(c, y);
                dy.fill(0.0);
                if y + 1 < height {
                    let below = image.row(c, y + 1);
                    for ((d, a), b) in dy.iter_mut().zip(here).zip(below) {
                        *d = b - a;
                    }
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let body = "    for (var c = 0u; c < p.planes; c++) {
        let at = c * p.pixels + i;
        var right = 0.0;
        var down = 0.0;
        if x + 1u < p.width { right = read0[at + 1u] - read0[at]; }
        if y + 1u < p.height { down = read0[at + p.width] - read0[at]; }
        write0[at] = right;
        write1[at] = down;
    }
";
        Ok(per_pixel(site, "", body))
    }
}

/// How far the halves of a candidate are from unbiased fits of the other halves, squared. Reads the candidate, its first half
/// and both fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrossError;

impl Kernel for CrossError {
    fn name(&self) -> &'static str {
        "cross-error"
    }

    fn contract(&self) -> Contract {
        Contract::rows(4, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for y in job.rows.clone() {
            let out = job.writes[0].row(0, y);
            out.fill(0.0);
            for c in 0..job.reads[0].planes() {
                let row = |k: usize| job.reads[k].row(c, y);
                let (made, half, a, b) = (row(0), row(1), row(2), row(3));
                for (x, out) in out.iter_mut().enumerate() {
                    let first = half[x] - b[x];
                    let second = 2.0 * made[x] - half[x] - a[x];
                    *out += 0.5 * (first * first + second * second);
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let body = format!(
            "    var sum = 0.0;
    for (var c = 0u; c < {}u; c++) {{
        let at = c * p.pixels + i;
        let first = read1[at] - read3[at];
        let second = 2.0 * read0[at] - read1[at] - read2[at];
        sum += 0.5 * (first * first + second * second);
    }}
    write0[i] = sum;
",
            site.reads[0].planes
        );
        Ok(per_pixel(site, "", &body))
    }
}

/// Three maps of 0 and 1: which of three numbers is the least. Reads them as three planes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Least;

impl Kernel for Least {
    fn name(&self) -> &'static str {
        "least"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for y in job.rows.clone() {
            let e: [&[f32]; 3] = std::array::from_fn(|k| job.reads[0].row(k, y));
            let maps = job.writes[0].rows_n::<3>(y);
            for x in 0..e[0].len() {
                let second = usize::from(e[1][x] < CLEARLY * e[0][x]);
                let bolder = e[2][x] < CLEARLY * e[second][x];
                let best = if bolder { 2 } else { second };
                maps[0][x] = f32::from(u8::from(best == 0));
                maps[1][x] = f32::from(u8::from(best == 1));
                maps[2][x] = f32::from(u8::from(best == 2));
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let body = format!(
            "    let e = vec3(read0[i], read0[i + p.pixels], read0[i + 2u * p.pixels]);
    let bolder = e.y < {CLEARLY} * e.x;
    let last = e.z < {CLEARLY} * select(e.x, e.y, bolder);
    let second = !last && bolder;
    write0[i] = select(0.0, 1.0, !last && !second);
    write0[i + p.pixels] = select(0.0, 1.0, second);
    write0[i + 2u * p.pixels] = select(0.0, 1.0, last);
"
        );
        Ok(per_pixel(site, "", &body))
    }
}
