//! Generates the stages of a scheme: exchange samples, synchronise, compute.

use super::region::Region;
use limpid_plan::wgsl::Code;
use limpid_wavelet::Matrix;

/// Emits stages one after the other.
pub(super) struct Stages<'a> {
    pub(super) region: &'a Region,
    /// Whether every step mirrors its inputs at the borders of the image.
    pub(super) mirrored: bool,
    /// The buffer in workgroup memory that holds the current value of each sample.
    stands: [Option<i32>; 4],
    /// The buffer that held each sample last.
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

    /// One stage. Only its first matrix reads other quads.
    pub(super) fn write(&mut self, code: &mut Code, stage: &[Matrix]) {
        if let Some(first) = stage.first() {
            let far: Vec<(usize, (i32, i32))> = first
                .reads()
                .filter(|(c, at)| *at != (0, 0) || (self.mirrored && !first.changes(*c)))
                .collect();
            self.share(code, &far);
        }
        for matrix in stage {
            self.apply(code, matrix);
            for (sample, stands) in self.stands.iter_mut().enumerate() {
                if matrix.changes(sample) {
                    *stands = None;
                }
            }
        }
    }

    /// Writes samples to workgroup memory whose current values are not there yet.
    fn share(&mut self, code: &mut Code, far: &[(usize, (i32, i32))]) {
        let banks = self.region.banks();
        let needed = |c: usize| far.iter().any(|(from, _)| *from == c);
        let missing: Vec<usize> = (0..4)
            .filter(|&c| needed(c) && self.stands[c].is_none())
            .collect();
        if !missing.is_empty() {
            // Other threads may still read the values that are about to be overwritten.
            if self.read && banks == 1 {
                code.say("workgroupBarrier()");
            }
            for &c in &missing {
                self.bank[c] = (self.bank[c] + 1) % banks;
                self.stands[c] = Some(self.bank[c]);
                let cell = self.region.first_cell(c, self.bank[c]);
                for k in 0..self.region.each() {
                    code.say(format_args!("cell[{cell} + at{k}] = q{k}[{c}]"));
                }
            }
            code.say("workgroupBarrier()");
        }
        self.read |= !far.is_empty();
    }

    /// Computes the new quads.
    fn apply(&self, code: &mut Code, matrix: &Matrix) {
        for k in 0..self.region.each() {
            let made = quad(matrix, &|row, c, at| match at {
                (0, 0) if c == row => format!("q{k}[{c}]"),
                _ => self.value(c, at, k),
            });
            code.say(format_args!("q{k} = {made}"));
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

/// The quad that a matrix computes. `value` returns an input: for which output sample, which sample, and the offset of its
/// quad.
pub(in crate::dwt) fn quad(
    matrix: &Matrix,
    value: &dyn Fn(usize, usize, (i32, i32)) -> String,
) -> String {
    let sample = |row: usize| match matrix.changes(row) {
        true => sum(matrix, row, value),
        false => value(row, row, (0, 0)),
    };
    let samples: [String; 4] = std::array::from_fn(sample);
    format!("vec4<f32>({})", samples.join(", "))
}

/// The new value of a sample, as a sum of products.
fn sum(matrix: &Matrix, row: usize, value: &dyn Fn(usize, usize, (i32, i32)) -> String) -> String {
    let mut terms = Vec::new();
    for column in 0..4 {
        for (at, c) in matrix.entry(row, column).terms() {
            let value = value(row, column, at);
            terms.push(if c == 1.0 {
                value
            } else {
                format!("{:?} * {value}", c as f32)
            });
        }
    }
    terms.join(" + ")
}
