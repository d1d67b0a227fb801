//! What shrinkage does between the transforms: thresholds of bands, softening, shifts, rotation of colours.

use super::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};
use crate::definition::shrink::{CANDIDATES, OPPONENT, Rule, soft, threshold};
use crate::{Result, Size, params};

params! {
    /// Size, planes and two numbers.
    struct Params { width: u32, height: u32, planes: u32, dx: u32, dy: u32, number: f32 }
}

/// A band in the packed image, and the noise in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Left and top.
    pub at: (usize, usize),
    /// Width and height.
    pub size: Size,
    /// Deviation of the noise.
    pub sigma: f32,
}

/// The bands of a packed image, finest first: `HL`, `LH`, `HH` of each level.
pub fn bands(size: Size, levels: usize, sigma: impl Fn(usize) -> (f32, f32)) -> Vec<Band> {
    let mut found = Vec::new();
    let mut size = size;
    for level in 0..levels {
        let low = Size::new(size.width.div_ceil(2), size.height.div_ceil(2));
        let high = Size::new(size.width / 2, size.height / 2);
        let (one, both) = sigma(level);
        let mut add = |at, width, height, sigma| {
            found.push(Band {
                at,
                size: Size::new(width, height),
                sigma,
            });
        };
        add((low.width, 0), high.width, low.height, one);
        add((0, low.height), low.width, high.height, one);
        add((low.width, low.height), high.width, high.height, both);
        size = low;
    }
    found
}

/// The bands as a WGSL table.
fn table(bands: &[Band]) -> String {
    let rows = bands.iter().map(|b| {
        let (x, y) = b.at;
        format!(
            "vec4<u32>({x}u, {y}u, {}u, {}u)",
            x + b.size.width,
            y + b.size.height
        )
    });
    let sigmas: Vec<String> = bands.iter().map(|b| format!("{:?}", b.sigma)).collect();
    let n = bands.len();
    format!(
        "const BANDS: u32 = {n}u;\nvar<private> area: array<vec4<u32>, {n}> = array<vec4<u32>, {n}>({});\nvar<private> deviation: array<f32, {n}> = array<f32, {n}>({});\n",
        rows.collect::<Vec<_>>().join(", "),
        sigmas.join(", ")
    )
}

fn params(size: Size, planes: usize, (dx, dy): (usize, usize), number: f32) -> Params {
    Params {
        width: size.width as u32,
        height: size.height as u32,
        planes: planes as u32,
        dx: dx as u32,
        dy: dy as u32,
        number,
    }
}

/// Finds the threshold of every band: reads packed coefficients, writes one number per band.
#[derive(Debug, Clone)]
pub struct Thresholds {
    /// The bands.
    pub bands: Vec<Band>,
    /// How.
    pub rule: Rule,
}

impl Kernel for Thresholds {
    fn name(&self) -> &'static str {
        "thresholds"
    }

    fn contract(&self) -> Contract {
        Contract::whole(1, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let size = job.reads[0].size();
        for plane in 0..job.reads[0].planes() {
            let packed = job.reads[0].plane(plane);
            let out = job.writes[0].band(plane);
            for (band, out) in self.bands.iter().zip(out) {
                let Size { width, height } = band.size;
                let values = &mut job.scratch[..width * height];
                for y in 0..height {
                    let from = &packed[(band.at.1 + y) * size.width + band.at.0..][..width];
                    values[y * width..][..width].copy_from_slice(from);
                }
                *out = threshold(values, f64::from(band.sigma), size.pixels(), self.rule) as f32;
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (size, planes) = (site.reads[0].size, site.reads[0].planes);
        let rule = match self.rule {
            Rule::Bayes => include_str!("bayes.wgsl"),
            Rule::Visu => include_str!("visu.wgsl"),
            Rule::Sure => include_str!("sure.wgsl"),
        };
        let source = format!(
            "{}{}const CANDIDATES: u32 = {CANDIDATES}u;\n{}{rule}",
            Params::WGSL,
            table(&self.bands),
            include_str!("thresholds.wgsl"),
        );
        let number = (2.0 * (size.pixels() as f64).ln()).sqrt() as f32;
        let groups = [self.bands.len() as u32, planes as u32, 1];
        Ok(Dispatch::compute(
            source,
            &params(size, planes, (0, 0), number),
            groups,
        ))
    }

    fn scratch(&self, _size: Size) -> usize {
        self.bands
            .iter()
            .map(|b| b.size.pixels())
            .max()
            .unwrap_or(0)
    }
}

/// Moves coefficients towards zero by their band's threshold; the low band stays.
#[derive(Debug, Clone)]
pub struct Soften {
    /// The bands.
    pub bands: Vec<Band>,
}

impl Kernel for Soften {
    fn name(&self) -> &'static str {
        "soften"
    }

    fn contract(&self) -> Contract {
        Contract::whole(2, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let width = job.reads[0].size().width;
        for plane in 0..job.reads[0].planes() {
            let packed = job.reads[0].plane(plane);
            let thresholds = job.reads[1].plane(plane);
            let out = job.writes[0].band(plane);
            out.copy_from_slice(packed);
            for (band, t) in self.bands.iter().zip(thresholds) {
                for y in 0..band.size.height {
                    let row = &mut out[(band.at.1 + y) * width + band.at.0..][..band.size.width];
                    row.iter_mut().for_each(|v| *v = soft(*v, *t));
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (size, planes) = (site.reads[0].size, site.reads[0].planes);
        let source = format!(
            "{}{}{}",
            Params::WGSL,
            table(&self.bands),
            include_str!("soften.wgsl")
        );
        let mut groups = tiles(size, 16, 16);
        groups[2] = planes as u32;
        Ok(Dispatch::compute(
            source,
            &params(size, planes, (0, 0), 0.0),
            groups,
        ))
    }
}

/// Moves an image around its borders, `out(x, y) = in(x + dx, y + dy)`, and adds it up.
#[derive(Debug, Clone, Copy)]
pub struct Roll {
    /// How far.
    pub by: (usize, usize),
    /// Factor of each value.
    pub weight: f32,
    /// Whether to add to what is there.
    pub add: bool,
}

impl Kernel for Roll {
    fn name(&self) -> &'static str {
        "roll"
    }

    fn contract(&self) -> Contract {
        let contract = Contract::gather(1, 1, None);
        if self.add {
            contract.updating()
        } else {
            contract
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let Size { width, height } = job.reads[0].size();
        let cut = self.by.0 % width;
        for plane in 0..job.reads[0].planes() {
            for y in job.rows.clone() {
                let from = job.reads[0].row(plane, (y + self.by.1) % height);
                let to = job.writes[0].row(plane, y);
                let moved = from[cut..].iter().chain(&from[..cut]);
                if self.add {
                    to.iter_mut()
                        .zip(moved)
                        .for_each(|(a, b)| *a += self.weight * b);
                } else {
                    to.iter_mut()
                        .zip(moved)
                        .for_each(|(a, b)| *a = self.weight * b);
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (size, planes) = (site.reads[0].size, site.reads[0].planes);
        let source = format!(
            "{}const ADD: bool = {};\n{}",
            Params::WGSL,
            self.add,
            include_str!("roll.wgsl")
        );
        let mut groups = tiles(size, 16, 16);
        groups[2] = planes as u32;
        Ok(Dispatch::compute(
            source,
            &params(size, planes, self.by, self.weight),
            groups,
        ))
    }
}

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
