//! The results, as an aligned table or as JSON.

use limpid::metric::page::{COLUMNS, Compared, number};
use serde::Serialize;

/// An image with the seconds that it took, if they are known.
pub(super) type Timed = (Compared, Option<f64>);

/// One line for each image, under headings.
pub(super) fn as_text(all: &[Timed]) -> String {
    let timed = all.iter().any(|(_, seconds)| seconds.is_some());
    let mut heading = vec!["image".to_owned()];
    heading.extend(COLUMNS.map(|c| c.0.to_owned()));
    heading.extend(timed.then(|| "seconds".to_owned()));
    let columns = heading.len();
    let mut rows: Vec<Vec<String>> = vec![heading];
    for (compared, seconds) in all {
        let mut row = vec![compared.name.clone()];
        row.extend(COLUMNS.map(|c| number(c.1(&compared.comparison.scores))));
        let seconds = seconds.map_or(String::new(), |s| format!("{s:.2}"));
        row.extend(timed.then_some(seconds));
        rows.push(row);
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
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
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

impl<'a> From<&'a Timed> for Row<'a> {
    fn from((compared, seconds): &'a Timed) -> Self {
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
            seconds: *seconds,
        }
    }
}

/// One row for each image.
pub(super) fn rows(all: &[Timed]) -> Vec<Row<'_>> {
    all.iter().map(Row::from).collect()
}
