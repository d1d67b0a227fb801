//! Which candidate is taken where, and the candidates' blend (Vicini 2015, lines 22 to 32).

use super::per_pixel;
use crate::Result;
use crate::definition::rdfc::NEARLY;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};

/// Three maps of 0 and 1: the candidate with the least risk, the first one only where it is clearly less than the second's,
/// and its slope not clearly above the second's.
/// Reads the filtered risks (3 planes), and risk and slope of the first and of the second candidate (2 planes each).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Select;

impl Kernel for Select {
    fn name(&self) -> &'static str {
        "select"
    }

    fn contract(&self) -> Contract {
        Contract::rows(3, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for y in job.rows.clone() {
            let e: [&[f32]; 3] = std::array::from_fn(|k| job.reads[0].row(k, y));
            let (dr, dg) = (job.reads[1].row(1, y), job.reads[2].row(1, y));
            let [r, g, b] = job.writes[0].rows_n::<3>(y);
            for x in 0..dr.len() {
                let margin = NEARLY * (e[0][x].abs() + e[1][x].abs());
                let least = e[0][x] < e[1][x].min(e[2][x]) - margin;
                let first = least && dr[x] <= dg[x] + NEARLY;
                let second = !first && e[1][x] < e[2][x];
                r[x] = f32::from(u8::from(first));
                g[x] = f32::from(u8::from(second));
                b[x] = 1.0 - r[x] - g[x];
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(per_pixel(
            site,
            &format!("const NEARLY: f32 = {NEARLY:e}f;\n"),
            "    let e = vec3(read0[i], read0[i + p.pixels], read0[i + 2u * p.pixels]);
    let least = e.x < min(e.y, e.z) - NEARLY * (abs(e.x) + abs(e.y));
    let first = least && read1[i + p.pixels] <= read2[i + p.pixels] + NEARLY;
    let second = !first && e.y < e.z;
    write0[i] = select(0.0, 1.0, first);
    write0[i + p.pixels] = select(0.0, 1.0, second);
    write0[i + 2u * p.pixels] = select(0.0, 1.0, !first && !second);
",
        ))
    }
}

/// `Σ map_k · candidate_k`, for all planes. Reads the three maps, then the three candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Blend;

impl Kernel for Blend {
    fn name(&self) -> &'static str {
        "blend"
    }

    fn contract(&self) -> Contract {
        Contract::rows(4, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for c in 0..job.writes[0].planes() {
            for y in job.rows.clone() {
                let s: [&[f32]; 3] = std::array::from_fn(|k| job.reads[0].row(k, y));
                let v: [&[f32]; 3] = std::array::from_fn(|k| job.reads[k + 1].row(c, y));
                for (x, out) in job.writes[0].row(c, y).iter_mut().enumerate() {
                    *out = s[0][x] * v[0][x] + s[1][x] * v[1][x] + s[2][x] * v[2][x];
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(per_pixel(
            site,
            "",
            "    let s = vec3(read0[i], read0[i + p.pixels], read0[i + 2u * p.pixels]);
    for (var c = 0u; c < p.planes; c++) {
        let at = c * p.pixels + i;
        write0[at] = dot(s, vec3(read1[at], read2[at], read3[at]));
    }
",
        ))
    }
}
