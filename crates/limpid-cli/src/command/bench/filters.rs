//! `limpid bench filters`: the window filters × radii × schedules, as in Zubatov and Shcherbakov, figure 12.

mod plot;

use super::{Args, copy_gbps, light, measure};
use crate::say::tell;
use anyhow::Result;
use limpid::method::Use;
use limpid::{Frame, Image, Options, Shape, Size};
use limpid_lab::find;
use serde::Serialize;
use std::io::Write;

/// The filters, in the order of the paper.
pub(super) const FILTERS: [&str; 5] = ["gaussian", "tent", "tent2", "variance", "bilateral"];

/// The sizes when none is given.
const SIZES: [Size; 2] = [Size::new(1920, 1080), Size::new(3840, 2160)];

/// The measurements of one device.
#[derive(Serialize)]
struct Report {
    device: String,
    copy_gbps: f64,
    cells: Vec<Cell>,
}

/// One filter by one schedule.
#[derive(Serialize)]
struct Cell {
    filter: &'static str,
    radius: usize,
    size: String,
    schedule: String,
    /// The filter's own passes.
    filter_ms: f64,
    /// With conversions from planes to texels and back.
    total_ms: f64,
    /// The filter's own passes over the time of a copy of its input to its outputs.
    ratio_to_copy: f64,
}

/// One line of the table: a filter at a radius and a size, by all schedules.
struct Line<'a> {
    label: String,
    size: &'a str,
    cells: Vec<&'a Cell>,
}

impl Line<'_> {
    fn of(&self, schedule: &str) -> Option<&Cell> {
        self.cells.iter().copied().find(|c| c.schedule == schedule)
    }

    fn best(&self) -> Option<&Cell> {
        let faster = |a: &&&Cell, b: &&&Cell| a.filter_ms.total_cmp(&b.filter_ms);
        self.cells.iter().min_by(faster).copied()
    }
}

impl Report {
    fn lines(&self) -> Vec<Line<'_>> {
        let mut lines: Vec<Line<'_>> = Vec::new();
        for cell in &self.cells {
            let side = 2 * cell.radius + 1;
            let label = format!("{} {side}x{side}", cell.filter);
            match lines
                .iter_mut()
                .find(|l| l.label == label && l.size == cell.size)
            {
                Some(line) => line.cells.push(cell),
                None => lines.push(Line {
                    label,
                    size: &cell.size,
                    cells: vec![cell],
                }),
            }
        }
        lines
    }

    fn sizes(&self) -> Vec<&str> {
        let mut sizes: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !sizes.contains(&cell.size.as_str()) {
                sizes.push(&cell.size);
            }
        }
        sizes
    }

    fn schedules(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !names.contains(&cell.schedule.as_str()) {
                names.push(&cell.schedule);
            }
        }
        names
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let device = args.how.open()?;
    let sizes = args.size.map_or(SIZES.to_vec(), |s| vec![s]);
    let mut report = Report {
        device: device.name(),
        copy_gbps: copy_gbps(&device, sizes[sizes.len() - 1], args.runs)?,
        cells: Vec::new(),
    };
    for size in sizes {
        let shape = Shape::color(size, 3);
        // All filters read the same frame.
        let mut state = 1;
        let noise = Image::from_fn(size.width, size.height, 3, |_, _, _| light(&mut state));
        let frame = [Frame::new(noise)?];
        for filter in FILTERS {
            for radius in 1..=3 {
                let mut method = find(Use::Filter, filter)?;
                method.set("radius", &radius.to_string())?;
                for schedule in method.schedules(device.backend()) {
                    let wanted = args.how.schedule.as_deref();
                    if wanted.is_some_and(|w| w != schedule.as_str()) {
                        continue;
                    }
                    let mut options = Options::of(method.boxed());
                    options.schedule = schedule.clone().into();
                    match measure(
                        &device,
                        (&shape, Some(&frame)),
                        &options,
                        args.runs,
                        report.copy_gbps,
                    ) {
                        Ok(row) => {
                            let between = |name: &str| name.ends_with("-texture");
                            let own = row.passes.iter().filter(|p| !between(&p.name));
                            let filter_ms: f64 = own.map(|p| p.ms).sum();
                            report.cells.push(Cell {
                                filter,
                                radius,
                                size: row.size,
                                schedule: row.schedule,
                                filter_ms,
                                total_ms: row.median_ms,
                                ratio_to_copy: row.ratio_to_copy * filter_ms / row.median_ms,
                            });
                        }
                        Err(error) => {
                            crate::say::line(&format!("limpid: {filter} {schedule}: {error:#}"));
                        }
                    }
                }
            }
        }
    }
    if args.json {
        tell!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report)?;
    }
    if let Some(path) = &args.svg {
        plot::write(&report, path)?;
    }
    Ok(())
}

fn print(report: &Report) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "filters on {}", report.device)?;
    writeln!(
        out,
        "copy limit: {:.1} GB/s, read and written",
        report.copy_gbps
    )?;
    writeln!(
        out,
        "milliseconds of the filter's own passes, without the conversion between planes and texels"
    )?;
    let names = report.schedules();
    let wide = |name: &str| name.len().max(8);
    let mut last = "";
    for line in report.lines() {
        if line.size != last {
            last = line.size;
            write!(out, "\n{:<16}", line.size)?;
            for name in &names {
                write!(out, " {name:>0$}", wide(name))?;
            }
            writeln!(out, "  {:<13} fragment/best best/copy", "best")?;
        }
        write!(out, "{:<16}", line.label)?;
        for name in &names {
            let text = line
                .of(name)
                .map_or("-".to_owned(), |c| format!("{:.3}", c.filter_ms));
            write!(out, " {text:>0$}", wide(name))?;
        }
        if let Some(best) = line.best() {
            let gain = line.of("fragment").map_or("-".to_owned(), |f| {
                format!("{:.2}", f.filter_ms / best.filter_ms)
            });
            write!(
                out,
                "  {:<13} {gain:>13} {:>9.2}",
                best.schedule, best.ratio_to_copy
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}
