//! Thresholds of bands computed from the coefficients: sums over parts of bands, then one threshold per band.

use super::{Band, over_bands};
use crate::own::own;
use fearless_simd::{Level, Simd};
use limpid_core::simd::dispatch;
use limpid_core::{Error, Result, Size};
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, View};
use limpid_reference::definition::shrink::CANDIDATES;
use rayon::prelude::*;

/// Number of partial sums of a band.
const PARTS: usize = 64;

/// The rule for the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Find {
    /// The mean square.
    Bayes,
    /// The lowest estimated risk.
    Sure,
    /// The bound of the noise: the bands' deviations already include it.
    Visu,
}

impl Find {
    /// Sums per band.
    pub fn sums(self) -> usize {
        match self {
            Self::Bayes | Self::Visu => 1,
            Self::Sure => CANDIDATES,
        }
    }
}

/// Sums over the bands of a packed image, in parts: a row per band and sum.
#[derive(Debug, Clone)]
pub struct BandSums {
    /// The bands.
    pub bands: Vec<Band>,
    /// The rule that the sums are for.
    pub find: Find,
}

/// The size of the slot that [`BandSums`] writes.
pub fn sums_size(bands: &[Band], find: Find) -> Size {
    Size::new(PARTS, bands.len() * find.sums())
}

impl Kernel for BandSums {
    fn name(&self) -> &'static str {
        "band-sums"
    }

    fn contract(&self) -> Contract {
        Contract::whole(1, 1)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let packed = pass.reads[0];
        let sums = sums_size(&self.bands, self.find);
        vec![
            Need::planes(packed.size, packed.planes),
            Need::planes(sums, packed.planes),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let sums = self.find.sums();
        let (level, packed) = (job.level, &job.reads[0]);
        for plane in 0..packed.planes() {
            let out = job.writes[0].band(plane).par_chunks_mut(sums * PARTS);
            out.zip(&self.bands).for_each(|(out, band)| {
                for part in 0..PARTS {
                    match self.find {
                        Find::Bayes => out[part] = squares(packed, plane, band, part),
                        Find::Visu => out[part] = 0.0,
                        Find::Sure => {
                            let risks = risks(level, packed, plane, (band, part));
                            for (i, risk) in risks.into_iter().enumerate() {
                                out[i * PARTS + part] = risk;
                            }
                        }
                    }
                }
            });
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let Size { width, height } = pass.reads[0].size;
        let inside = |b: &Band| b.at.0 + b.size.width <= width && b.at.1 + b.size.height <= height;
        if !self.bands.iter().all(inside) {
            return Err(Error::unsupported("a band that is not inside its image"));
        }
        let planes = pass.reads[0].planes;
        let value = match self.find {
            Find::Bayes => "v * v",
            Find::Visu => "0.0",
            Find::Sure => "min(v * v, t * t) - select(0.0, 2.0 * sigma * sigma, abs(v) <= t)",
        };
        let text = Wgsl::default()
            .constant("PARTS", "u32", PARTS)
            .constant("SUMS", "u32", self.find.sums())
            .function("value(v: f32, t: f32, sigma: f32) -> f32", value)
            .slots(pass, &["src", "dst"])
            .body(include_str!("sums.wgsl"));
        let groups = [PARTS as u32, self.bands.len() as u32, planes as u32];
        Ok(own(self, pass, over_bands(pass, &self.bands, text, groups)))
    }
}

/// Rows of a part of a band.
fn rows<'a>(
    packed: &'a View<'a>,
    plane: usize,
    band: &'a Band,
    part: usize,
) -> impl Iterator<Item = &'a [f32]> {
    let rows = (part..band.size.height).step_by(PARTS);
    rows.map(move |y| &packed.row(plane, band.at.1 + y)[band.at.0..][..band.size.width])
}

fn squares(packed: &View<'_>, plane: usize, band: &Band, part: usize) -> f32 {
    let mut lanes = [0.0f32; 16];
    for row in rows(packed, plane, band, part) {
        let (whole, rest) = row.as_chunks::<16>();
        for chunk in whole {
            for (sum, v) in lanes.iter_mut().zip(chunk) {
                *sum += v * v;
            }
        }
        for (sum, v) in lanes.iter_mut().zip(rest) {
            *sum += v * v;
        }
    }
    lanes.iter().sum()
}

/// Copies of the counts and sums: neighbouring values in the same bin do not depend on each other.
const COPIES: usize = 4;

/// A bin for each candidate and one for larger values, rounded up to a power of two.
const BINS: usize = 64;
const _: () = assert!(CANDIDATES < BINS);

/// The estimated risk of each candidate. Values are counted in the bin of the first candidate that they do not exceed.
fn risks(
    level: Level,
    packed: &View<'_>,
    plane: usize,
    (band, part): (&Band, usize),
) -> [f32; CANDIDATES] {
    let sigma = band.sigma[plane.min(2)];
    let limit = |i: usize| i as f32 / 8.0 * sigma;
    let (mut counts, mut squares) = ([[0u32; BINS]; COPIES], [[0.0f32; BINS]; COPIES]);
    let mut all = 0;
    for row in rows(packed, plane, band, part) {
        all += row.len();
        let (whole, rest) = row.as_chunks::<16>();
        let mut count = |values: &[f32; 16], n: usize| {
            let mut first = [0u32; 16];
            dispatch!(level, simd => firsts(simd, values, sigma, &mut first));
            for i in 0..n {
                let at = first[i] as usize % BINS;
                counts[i % COPIES][at] += 1;
                squares[i % COPIES][at] += values[i] * values[i];
            }
        };
        for values in whole {
            count(values, 16);
        }
        if !rest.is_empty() {
            let mut values = [0.0; 16];
            values[..rest.len()].copy_from_slice(rest);
            count(&values, rest.len());
        }
    }
    let (mut count, mut square) = (0, 0.0);
    std::array::from_fn(|i| {
        count += counts.iter().map(|c| c[i]).sum::<u32>();
        square += squares.iter().map(|s| s[i]).sum::<f32>();
        let (more, less) = ((all - count as usize) as f32, count as f32);
        square + more * limit(i) * limit(i) - 2.0 * sigma * sigma * less
    })
}

/// The first candidate that each value does not exceed.
#[inline(always)]
fn firsts<S: Simd>(_: S, values: &[f32; 16], sigma: f32, first: &mut [u32; 16]) {
    let most = CANDIDATES as f32;
    for i in 0..16 {
        let v = values[i].abs();
        // A guess that may be off by one due to rounding.
        let guess = (v / sigma * 8.0).ceil().min(most);
        let down = if v <= (guess - 1.0) / 8.0 * sigma {
            1.0
        } else {
            0.0
        };
        let up = if v > guess / 8.0 * sigma { 1.0 } else { 0.0 };
        first[i] = (guess - down + up).max(0.0).min(most) as u32;
    }
}

/// Computes one threshold per band from its sums.
#[derive(Debug, Clone)]
pub struct Thresholds {
    /// The bands.
    pub bands: Vec<Band>,
    /// The rule for the threshold.
    pub find: Find,
}

impl Kernel for Thresholds {
    fn name(&self) -> &'static str {
        "thresholds"
    }

    fn contract(&self) -> Contract {
        Contract::whole(1, 1)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let planes = pass.reads[0].planes;
        vec![
            Need::planes(sums_size(&self.bands, self.find), planes),
            Need::values(self.bands.len() * planes),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let sums = self.find.sums();
        for plane in 0..job.reads[0].planes() {
            let parts = job.reads[0].plane(plane).chunks_exact(PARTS);
            let totals: Vec<f32> = parts.map(|p| p.iter().sum()).collect();
            let out = job.writes[0].band(plane).iter_mut();
            for ((out, sums), band) in out.zip(totals.chunks_exact(sums)).zip(&self.bands) {
                let sigma = band.sigma[plane.min(2)];
                *out = match self.find {
                    Find::Bayes => {
                        let mean = sums[0] / band.size.pixels().max(1) as f32;
                        let (noise, signal) = (sigma * sigma, mean - sigma * sigma);
                        // If the band contains nothing but noise, all coefficients are removed.
                        if signal > 0.0 {
                            noise / signal.sqrt()
                        } else {
                            f32::MAX
                        }
                    }
                    Find::Sure => {
                        let best =
                            (0..sums.len()).fold(0, |b, i| if sums[i] < sums[b] { i } else { b });
                        best as f32 / 8.0 * sigma
                    }
                    Find::Visu => sigma,
                };
            }
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let planes = pass.reads[0].planes;
        let find = match self.find {
            Find::Bayes => include_str!("bayes.wgsl"),
            Find::Visu => include_str!("visu.wgsl"),
            Find::Sure => include_str!("sure.wgsl"),
        };
        let text = Wgsl::default()
            .constant("PARTS", "u32", PARTS)
            .constant("SUMS", "u32", self.find.sums())
            .slots(pass, &["sums", "dst"])
            .body(find)
            .body(include_str!("thresholds.wgsl"));
        let groups = [self.bands.len() as u32, planes as u32, 1];
        Ok(own(self, pass, over_bands(pass, &self.bands, text, groups)))
    }
}
