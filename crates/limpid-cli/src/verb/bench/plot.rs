//! The report as a bar chart.

use super::Report;
use anyhow::{Result, anyhow};
use plotters::prelude::*;
use std::path::Path;

pub(super) fn write(report: &Report, path: &Path) -> Result<()> {
    let height = 60 + 34 * report.rows.len() as u32;
    let root = SVGBackend::new(path, (900, height)).into_drawing_area();
    draw(report, &root).map_err(|e| anyhow!("{}: {e}", path.display()))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw(report: &Report, root: &Area<'_>) -> Result<(), Box<dyn std::error::Error>> {
    root.fill(&WHITE)?;
    let small = ("sans-serif", 14).into_font();
    let title = format!(
        "{} on {}: time over the time of a copy",
        report.method, report.device
    );
    root.draw(&Text::new(title, (10, 10), ("sans-serif", 17).into_font()))?;
    let most = report
        .rows
        .iter()
        .map(|r| r.ratio_to_copy)
        .fold(1.0, f64::max);
    let scale = 480.0 / most;
    let copy = 300 + scale as i32;
    for (i, row) in report.rows.iter().enumerate() {
        let y = 46 + 34 * i as i32;
        root.draw(&Text::new(row.schedule.clone(), (10, y + 5), small.clone()))?;
        let end = 300 + (scale * row.ratio_to_copy) as i32;
        root.draw(&Rectangle::new(
            [(300, y), (end.max(301), y + 24)],
            RGBColor(70, 130, 180).filled(),
        ))?;
        let label = format!("{:.2}  ({:.3} ms)", row.ratio_to_copy, row.median_ms);
        root.draw(&Text::new(label, (end + 6, y + 5), small.clone()))?;
    }
    let bottom = 46 + 34 * report.rows.len() as i32;
    root.draw(&PathElement::new(vec![(copy, 40), (copy, bottom)], BLACK))?;
    root.present()?;
    Ok(())
}
