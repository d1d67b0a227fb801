//! The results, as an aligned table or as JSON.

use limpid::metric::page::{COLUMNS, Compared, number};
use serde::Serialize;

/// One line for each image, under headings.
pub(super) fn as_text(all: &[Compared]) -> String {
    let heading = std::iter::once("image".to_owned()).chain(COLUMNS.map(|c| c.0.to_owned()));
    let mut rows: Vec<Vec<String>> = vec![heading.collect()];
    for compared in all {
        let mut row = vec![compared.name.clone()];
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

/// The results for one image, as JSON.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    file: &'a str,
    mse: f64,
    relmse: f64,
    rmse_vicini: f64,
    /// Infinite for equal images, which JSON cannot express: `null`.
    psnr: f64,
    ssim: f64,
    flip: f64,
    missing: usize,
}

impl<'a> From<&'a Compared> for Row<'a> {
    fn from(compared: &'a Compared) -> Self {
        let s = compared.comparison.scores;
        Self {
            file: &compared.name,
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
