//! The stages of a scheme as text: share samples, wait, compute.

use super::region::Region;
use crate::wavelet::Matrix;
use std::fmt::Write;

/// Writes stages one after the other.
pub(super) struct Stages<'a> {
    pub(super) region: &'a Region,
    /// Whether every step mirrors what it reads at the borders of the image.
    pub(super) mirrored: bool,
    /// The part of workgroup memory that holds the current value of each sample.
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
            self.share(text, &far);
        }
        for matrix in stage {
            self.apply(text, matrix);
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
        let banks = self.region.banks();
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

    /// New quads from old ones.
    fn apply(&self, text: &mut String, matrix: &Matrix) {
        for k in 0..self.region.quads {
            let sample = |r: usize| {
                let own = format!("q{k}[{r}]");
                let value = |c: usize, at: (i32, i32)| match (c, at) {
                    (c, (0, 0)) if c == r => own.clone(),
                    _ => self.value(c, at, k),
                };
                match matrix.changes(r) {
                    true => sum(matrix, r, &value),
                    false => own.clone(),
                }
            };
            let _ = writeln!(
                text,
                "    q{k} = vec4<f32>({}, {}, {}, {});",
                sample(0),
                sample(1),
                sample(2),
                sample(3)
            );
        }
    }

    fn value(&self, c: usize, (x, y): (i32, i32), k: i32) -> String {
        let (width, _) = self.region.size();
        match self.stands[c] {
            Some(bank) if self.mirrored => {
                let cell = self.region.first_cell(c, bank);
                let (px, py) = (c % 2, c / 2);
                format!(
                    "cell[{cell} + place(r{k} + vec2<i32>({x}, {y}), origin, vec2<i32>({px}, {py}))]"
                )
            }
            Some(bank) if (x, y) != (0, 0) => {
                let cell = self.region.first_cell(c, bank) + y * width + x;
                format!("cell[{cell} + at{k}]")
            }
            _ => format!("q{k}[{c}]"),
        }
    }
}

/// The new value of a sample, as a sum of products; `value` is a sample of a quad some quads away.
pub(super) fn sum(
    matrix: &Matrix,
    row: usize,
    value: &dyn Fn(usize, (i32, i32)) -> String,
) -> String {
    let mut terms = Vec::new();
    for column in 0..4 {
        for (at, c) in matrix.entry(row, column).terms() {
            let value = value(column, at);
            terms.push(if c == 1.0 {
                value
            } else {
                format!("{:?} * {value}", c as f32)
            });
        }
    }
    terms.join(" + ")
}
