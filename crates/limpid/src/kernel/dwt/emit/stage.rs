//! The stages of a scheme as text: share samples, wait, compute.

use super::region::{Exchange, Region};
use crate::wavelet::Matrix;
use std::fmt::Write;

/// Writes stages one after the other.
pub(super) struct Stages<'a> {
    pub(super) region: &'a Region,
    /// Whether every step mirrors what it reads at the borders of the image.
    pub(super) mirrored: bool,
    /// The part of workgroup memory where each sample stands as it is now.
    stands: [Option<i32>; 4],
    /// The part where each sample stood last.
    bank: [i32; 4],
    /// Whether workgroup memory was read since the last barrier.
    read: bool,
}

impl<'a> Stages<'a> {
    pub(super) fn new(region: &'a Region, mirrored: bool) -> Self {
        Self {
            region,
            mirrored,
            stands: [None; 4],
            bank: [0; 4],
            read: false,
        }
    }

    /// One stage. Only its first matrix reaches into other quads.
    pub(super) fn write(&mut self, text: &mut String, stage: &[Matrix]) {
        text.push_str("    {\n");
        if let Some(first) = stage.first() {
            let far: Vec<(usize, (i32, i32))> = first
                .reads()
                .filter(|(c, at)| *at != (0, 0) || (self.mirrored && !first.changes(*c)))
                .collect();
            match self.region.exchange {
                Exchange::Memory { .. } => self.share(text, &far),
                Exchange::Lanes { .. } => self.shuffle(text, &far),
            }
        }
        for (i, matrix) in stage.iter().enumerate() {
            self.apply(text, matrix, i == 0);
            for (sample, stands) in self.stands.iter_mut().enumerate() {
                if matrix.changes(sample) {
                    *stands = None;
                }
            }
        }
        text.push_str("    }\n");
    }

    /// Writes samples to workgroup memory that do not stand there yet.
    fn share(&mut self, text: &mut String, far: &[(usize, (i32, i32))]) {
        let Exchange::Memory { banks } = self.region.exchange else {
            return;
        };
        let needed = |c: usize| far.iter().any(|(from, _)| *from == c);
        let missing: Vec<usize> = (0..4)
            .filter(|&c| needed(c) && self.stands[c].is_none())
            .collect();
        if !missing.is_empty() {
            // Others may still read what is about to be overwritten.
            if self.read && banks == 1 {
                text.push_str("    workgroupBarrier();\n");
            }
            for &c in &missing {
                self.bank[c] = (self.bank[c] + 1) % banks;
                self.stands[c] = Some(self.bank[c]);
                let cell = self.region.first_cell(c, self.bank[c]);
                for k in 0..self.region.quads {
                    let _ = writeln!(text, "    cell[{cell} + at{k}] = q{k}[{c}];");
                }
            }
            text.push_str("    workgroupBarrier();\n");
        }
        self.read |= !far.is_empty();
    }

    /// Gets samples of other lanes, each once.
    fn shuffle(&self, text: &mut String, far: &[(usize, (i32, i32))]) {
        let mut wanted = std::collections::BTreeSet::new();
        for (c, (x, y)) in far.iter().filter(|(_, (x, _))| *x != 0) {
            wanted.extend((0..self.region.quads).map(|k| (*c, self.row(k, *y), *x)));
        }
        for (c, k, x) in wanted {
            let _ = writeln!(
                text,
                "    let {} = subgroupShuffle(q{k}[{c}], u32(lane + {x}) & LANES);",
                lane_name(c, k, x)
            );
        }
    }

    /// The quad of the own column that stands `y` below quad `k`.
    fn row(&self, k: i32, y: i32) -> i32 {
        (k + y).clamp(0, self.region.quads - 1)
    }

    /// New quads from old ones; where quads of one thread read each other, all are computed before one is changed.
    fn apply(&self, text: &mut String, matrix: &Matrix, first: bool) {
        let lanes = matches!(self.region.exchange, Exchange::Lanes { .. });
        for k in 0..self.region.quads {
            let sample = |r: usize| {
                if matrix.changes(r) {
                    self.sum(matrix, r, k)
                } else {
                    format!("q{k}[{r}]")
                }
            };
            let to = if lanes && first {
                format!("let n{k}")
            } else {
                format!("q{k}")
            };
            let _ = writeln!(
                text,
                "    {to} = vec4<f32>({}, {}, {}, {});",
                sample(0),
                sample(1),
                sample(2),
                sample(3)
            );
        }
        if lanes && first {
            for k in 0..self.region.quads {
                let _ = writeln!(text, "    q{k} = n{k};");
            }
        }
    }

    /// The new value of a sample, as a sum of products.
    fn sum(&self, matrix: &Matrix, row: usize, k: i32) -> String {
        let mut terms = Vec::new();
        for column in 0..4 {
            for (at, c) in matrix.entry(row, column).terms() {
                let value = if row == column && at == (0, 0) {
                    format!("q{k}[{column}]")
                } else {
                    self.value(column, at, k)
                };
                terms.push(if c == 1.0 {
                    value
                } else {
                    format!("{:?} * {value}", c as f32)
                });
            }
        }
        terms.join(" + ")
    }

    fn value(&self, c: usize, (x, y): (i32, i32), k: i32) -> String {
        let (width, _) = self.region.size();
        match (self.region.exchange, self.stands[c]) {
            (Exchange::Lanes { .. }, _) => match (self.row(k, y), x) {
                (k, 0) => format!("q{k}[{c}]"),
                (k, x) => lane_name(c, k, x),
            },
            (_, Some(bank)) if self.mirrored => {
                let cell = self.region.first_cell(c, bank);
                let (px, py) = (c % 2, c / 2);
                format!(
                    "cell[{cell} + place(r{k} + vec2<i32>({x}, {y}), origin, vec2<i32>({px}, {py}))]"
                )
            }
            (_, Some(bank)) if (x, y) != (0, 0) => {
                let cell = self.region.first_cell(c, bank) + y * width + x;
                format!("cell[{cell} + at{k}]")
            }
            _ => format!("q{k}[{c}]"),
        }
    }
}

fn lane_name(c: usize, k: i32, x: i32) -> String {
    let side = if x < 0 { 'm' } else { 'p' };
    format!("s{c}_{k}{side}{}", x.abs())
}
