//! The sweep as bars: a panel for each size, a group for each filter and radius.

use super::Report;
use crate::command::bench::plot::Scale;
use anyhow::{Result, anyhow};
use plotters::prelude::*;
use std::path::Path;

const COLORS: [RGBColor; 8] = [
    RGBColor(70, 130, 180),
    RGBColor(220, 120, 60),
    RGBColor(110, 160, 80),
    RGBColor(190, 80, 90),
    RGBColor(140, 110, 180),
    RGBColor(120, 120, 120),
    RGBColor(200, 170, 60),
    RGBColor(70, 160, 160),
];

const BAR: i32 = 9;
const LABEL: i32 = 130;
const LONGEST: f64 = 640.0;

pub(super) fn write(report: &Report, path: &Path) -> Result<()> {
    let lines = report.lines();
    let bars: usize = lines.iter().map(|l| l.cells.len()).sum();
    let height = 90 + BAR * bars as i32 + 10 * lines.len() as i32 + 40 * 4;
    let root = SVGBackend::new(path, (900, height.max(1) as u32)).into_drawing_area();
    draw(report, &root).map_err(|e| anyhow!("{}: {e}", path.display()))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw(report: &Report, root: &Area<'_>) -> Result<(), Box<dyn std::error::Error>> {
    root.fill(&WHITE)?;
    let small = ("sans-serif", 12).into_font();
    let values = report.cells.iter().map(|c| c.filter_ms);
    let scale = Scale::new(values);
    let sizes: Vec<&str> = report.sizes();
    let title = format!(
        "Window filters at {}, RGB of floats, {}: milliseconds{}",
        sizes.join(" and "),
        report.device,
        scale.name()
    );
    root.draw(&Text::new(title, (10, 10), ("sans-serif", 17).into_font()))?;
    let names = report.schedules();
    for (i, name) in names.iter().enumerate() {
        let (x, y) = (10 + 110 * (i as i32 % 8), 38 + 18 * (i as i32 / 8));
        let color = COLORS[i % COLORS.len()].filled();
        root.draw(&Rectangle::new([(x, y), (x + 10, y + 10)], color))?;
        root.draw(&Text::new((*name).to_owned(), (x + 14, y), small.clone()))?;
    }
    let mut y = 76;
    let mut last = "";
    for line in report.lines() {
        if line.size != last {
            last = line.size;
            root.draw(&Text::new(
                last.to_owned(),
                (10, y),
                ("sans-serif", 15).into_font(),
            ))?;
            y += 24;
        }
        root.draw(&Text::new(line.label.clone(), (10, y), small.clone()))?;
        for cell in &line.cells {
            let index = names.iter().position(|n| *n == cell.schedule).unwrap_or(0);
            let end = LABEL + (LONGEST * scale.share(cell.filter_ms)) as i32;
            let color = COLORS[index % COLORS.len()].filled();
            root.draw(&Rectangle::new(
                [(LABEL, y), (end.max(LABEL + 1), y + BAR - 1)],
                color,
            ))?;
            let text = format!("{:.3}", cell.filter_ms);
            root.draw(&Text::new(
                text,
                (end + 4, y - 1),
                ("sans-serif", 9).into_font(),
            ))?;
            y += BAR;
        }
        y += 10;
    }
    root.present()?;
    Ok(())
}
