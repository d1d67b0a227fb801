//! The numbers, aligned or as JSON.

use super::Compared;
use limpid::metric::Scores;
use serde::Serialize;

/// Heading, value, whether greater is better.
type Column = (&'static str, fn(&Scores) -> f64, bool);

/// The columns in order.
pub(super) const COLUMNS: [Column; 6] = [
    ("MSE", |s| s.mse, false),
    ("relMSE", |s| s.relmse, false),
    ("RMSE Vicini", |s| s.rmse_vicini, false),
    ("PSNR dB", |s| s.psnr, true),
    ("SSIM", |s| s.ssim, true),
    ("FLIP", |s| s.flip, false),
];

/// One line for each image, under headings.
pub(super) fn as_text(all: &[Compared]) -> String {
    let heading = std::iter::once("image".to_owned()).chain(COLUMNS.map(|c| c.0.to_owned()));
    let mut rows: Vec<Vec<String>> = vec![heading.collect()];
    for compared in all {
        let mut row = vec![compared.file.clone()];
        row.extend(COLUMNS.map(|c| number(c.1(&compared.comparison.scores))));
        rows.push(row);
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..=COLUMNS.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        text += &format!("{:w$}", row[0], w = widths[0]);
        for (cell, w) in row.iter().zip(&widths).skip(1) {
            text += &format!("  {cell:>w$}");
        }
        text += "\n";
    }
    text
}

/// Five digits: plain where they are readable, with an exponent where they are not.
pub(super) fn number(v: f64) -> String {
    match v.abs() {
        0.0 => "0".to_owned(),
        a if a.is_infinite() => "∞".to_owned(),
        a if !(1e-3..1e5).contains(&a) => format!("{v:.3e}"),
        a if a >= 100.0 => format!("{v:.1}"),
        a if a >= 10.0 => format!("{v:.2}"),
        _ => format!("{v:.4}"),
    }
}

/// What is known of one image, as JSON tells it.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    file: &'a str,
    mse: f64,
    relmse: f64,
    rmse_vicini: f64,
    /// Of equal images it is infinite, which JSON cannot say: `null`.
    psnr: f64,
    ssim: f64,
    flip: f64,
    missing: usize,
}

impl<'a> From<&'a Compared> for Row<'a> {
    fn from(compared: &'a Compared) -> Self {
        let s = compared.comparison.scores;
        Self {
            file: &compared.file,
            mse: s.mse,
            relmse: s.relmse,
            rmse_vicini: s.rmse_vicini,
            psnr: s.psnr,
            ssim: s.ssim,
            flip: s.flip,
            missing: compared.comparison.missing,
        }
    }
}

/// One row for each image.
pub(super) fn rows(all: &[Compared]) -> Vec<Row<'_>> {
    all.iter().map(Row::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_about_five_digits() {
        let cases = [
            (0.0, "0"),
            (0.123_456, "0.1235"),
            (12.345_6, "12.35"),
            (1234.56, "1234.6"),
            (1.5e-7, "1.500e-7"),
            (2e9, "2.000e9"),
            (f64::INFINITY, "∞"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
    }
}
