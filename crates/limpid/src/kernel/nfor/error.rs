//! Candidates judged by the buffer that they were not made of, and mixed.

use crate::Result;
use crate::definition::nfor::MOST;
use crate::kernel::front::per_pixel;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};
use std::fmt::Write;

/// Which buffer judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judge {
    /// Each of two buffers judges what was made of the other.
    Two,
    /// The pixels of each parity judge what was made of the others.
    One,
}

/// Relative squared errors of candidates. Reads: the candidates made of A, those made of B, the data A and B, and the squared
/// brightness that counts as 1. Writes: a plane for each candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Errors {
    /// Which buffer judges.
    pub(crate) judge: Judge,
    /// Planes of the data.
    pub(crate) channels: usize,
    /// Number of candidates.
    pub(crate) count: usize,
}

impl Kernel for Errors {
    fn name(&self) -> &'static str {
        "errors"
    }

    fn contract(&self) -> Contract {
        Contract::rows(5, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let n = self.channels;
        for y in job.rows.clone() {
            for k in 0..self.count {
                let out = job.writes[0].row(k, y);
                out.fill(0.0);
                for c in 0..n {
                    let row = |read: usize, plane: usize| job.reads[read].row(plane, y);
                    let (fa, fb) = (row(0, k * n + c), row(1, k * n + c));
                    let (a, b) = (row(2, c), row(3, c));
                    for x in 0..out.len() {
                        let (ea, eb) = (fa[x] - b[x], fb[x] - a[x]);
                        out[x] += match self.judge {
                            Judge::Two => 0.5 * (ea * ea + eb * eb),
                            Judge::One if (x + y) % 2 == 1 => ea * ea,
                            Judge::One => eb * eb,
                        };
                    }
                }
                let scale = job.reads[4].row(0, y);
                for (o, s) in out.iter_mut().zip(scale) {
                    *o /= n as f32 * s;
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let error = match self.judge {
            Judge::Two => "0.5 * (ea * ea + eb * eb)",
            Judge::One => "select(eb * eb, ea * ea, (x + y) % 2u == 1u)",
        };
        let n = self.channels;
        let body = format!(
            "    for (var k = 0u; k < {}u; k++) {{
        var sum = 0.0;
        for (var c = 0u; c < {n}u; c++) {{
            let at = (k * {n}u + c) * p.pixels + i;
            let own = c * p.pixels + i;
            let ea = read0[at] - read3[own];
            let eb = read1[at] - read2[own];
            sum += {error};
        }}
        write0[k * p.pixels + i] = sum / ({n}.0 * read4[i]);
    }}
",
            self.count
        );
        Ok(per_pixel(site, [0.0; 4], "", &body))
    }
}

/// By how much candidates are worse than the first, within limits. Reads: slots of errors. Writes: all planes of them, or with
/// `choose` ones where a candidate has the least and zeros elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contest {
    /// Candidates in each slot.
    pub(crate) counts: Vec<usize>,
    /// Whether the least is chosen.
    pub(crate) choose: bool,
}

impl Contest {
    /// Slot and plane of each candidate.
    fn planes(&self) -> impl Iterator<Item = (usize, usize)> {
        let slots = self.counts.iter().enumerate();
        slots.flat_map(|(slot, count)| (0..*count).map(move |plane| (slot, plane)))
    }
}

impl Kernel for Contest {
    fn name(&self) -> &'static str {
        if self.choose { "choose" } else { "contest" }
    }

    fn contract(&self) -> Contract {
        Contract::rows(self.counts.len(), 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let planes: Vec<(usize, usize)> = self.planes().collect();
        for y in job.rows.clone() {
            let rows: Vec<&[f32]> = planes
                .iter()
                .map(|(s, p)| job.reads[*s].row(*p, y))
                .collect();
            for k in 0..rows.len() {
                let out = job.writes[0].row(k, y);
                for (x, o) in out.iter_mut().enumerate() {
                    *o = if self.choose {
                        let better = |best: usize, k: usize| {
                            if rows[k][x] < rows[best][x] { k } else { best }
                        };
                        f32::from(u8::from((0..rows.len()).fold(0, better) == k))
                    } else {
                        (rows[k][x] - rows[0][x]).clamp(-MOST, MOST)
                    };
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let mut body = String::new();
        // Writing to a string cannot fail.
        let planes = self.planes().enumerate();
        let places =
            planes.map(|(k, (slot, plane))| (k, format!("read{slot}[{plane}u * p.pixels + i]")));
        if self.choose {
            body += "    var least = read0[i];\n    var best = 0u;\n";
            for (k, at) in places {
                let _ = writeln!(body, "    if {at} < least {{ least = {at}; best = {k}u; }}");
            }
            let count: usize = self.counts.iter().sum();
            let _ = writeln!(
                body,
                "    for (var k = 0u; k < {count}u; k++) {{ write0[k * p.pixels + i] = select(0.0, 1.0, k == best); }}"
            );
        } else {
            for (k, at) in places {
                let _ = writeln!(
                    body,
                    "    write0[{k}u * p.pixels + i] = clamp({at} - read0[i], -p.a, p.a);"
                );
            }
        }
        Ok(per_pixel(site, [MOST, 0.0, 0.0, 0.0], "", &body))
    }
}

/// Candidates in the shares of the maps, none below zero. Reads: maps, slots of candidates. Writes: the mixture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mix {
    /// Candidates in each slot.
    pub(crate) counts: Vec<usize>,
    /// Planes of a candidate.
    pub(crate) planes: usize,
}

impl Kernel for Mix {
    fn name(&self) -> &'static str {
        "mix"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1 + self.counts.len(), 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for y in job.rows.clone() {
            for c in 0..self.planes {
                let out = job.writes[0].row(c, y);
                out.fill(0.0);
                let mut map = 0;
                for (slot, count) in self.counts.iter().enumerate() {
                    for k in 0..*count {
                        let made = job.reads[1 + slot].row(k * self.planes + c, y);
                        let share = job.reads[0].row(map, y);
                        for ((o, m), s) in out.iter_mut().zip(made).zip(share) {
                            *o += s * m;
                        }
                        map += 1;
                    }
                }
                for o in out.iter_mut() {
                    *o = o.max(0.0);
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let n = self.planes;
        let mut terms = String::new();
        let mut map = 0;
        for (slot, count) in self.counts.iter().enumerate() {
            for k in 0..*count {
                let first = k * n;
                let _ = writeln!(
                    terms,
                    "        sum += read0[{map}u * p.pixels + i] * read{}[({first}u + c) * p.pixels + i];",
                    1 + slot
                );
                map += 1;
            }
        }
        let body = format!(
            "    for (var c = 0u; c < {n}u; c++) {{
        var sum = 0.0;
{terms}        write0[c * p.pixels + i] = max(sum, 0.0);
    }}
"
        );
        Ok(per_pixel(site, [0.0; 4], "", &body))
    }
}

/// Light layers in the shares that make them add up to the colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Balance {
    /// The sum of this many slots.
    Sum(usize),
    /// Of this many layers, one: a layer, the colour, the sum of all layers.
    Share(usize),
}

impl Kernel for Balance {
    fn name(&self) -> &'static str {
        match self {
            Self::Sum(_) => "sum",
            Self::Share(_) => "balance",
        }
    }

    fn contract(&self) -> Contract {
        let reads = match self {
            Self::Sum(n) => *n,
            Self::Share(_) => 3,
        };
        Contract::rows(reads, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for c in 0..job.writes[0].planes() {
            for y in job.rows.clone() {
                let row = |k: usize| job.reads[k].row(c, y);
                let out = job.writes[0].row(c, y);
                match self {
                    Self::Sum(n) => {
                        out.copy_from_slice(row(0));
                        for k in 1..*n {
                            for (o, v) in out.iter_mut().zip(row(k)) {
                                *o += v;
                            }
                        }
                    }
                    Self::Share(n) => {
                        let (light, color, sum) = (row(0), row(1), row(2));
                        for x in 0..out.len() {
                            out[x] = if sum[x] > 0.0 {
                                light[x] * (color[x] / sum[x])
                            } else {
                                color[x] / *n as f32
                            };
                        }
                    }
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (value, count) = match self {
            Self::Sum(n) => {
                let terms: Vec<String> = (0..*n).map(|k| format!("read{k}[at]")).collect();
                (terms.join(" + "), 1)
            }
            Self::Share(n) => (
                "select(read1[at] * p.a, read0[at] * (read1[at] / read2[at]), read2[at] > 0.0)"
                    .to_owned(),
                *n,
            ),
        };
        let body = format!(
            "    for (var c = 0u; c < p.planes; c++) {{
        let at = c * p.pixels + i;
        write0[at] = {value};
    }}
"
        );
        Ok(per_pixel(
            site,
            [1.0 / count as f32, 0.0, 0.0, 0.0],
            "",
            &body,
        ))
    }
}
