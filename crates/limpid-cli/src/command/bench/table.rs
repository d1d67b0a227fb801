//! The report as a table.

use super::Report;
use anyhow::Result;
use std::io::Write;

pub(super) fn print(report: &Report, passes: bool) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} on {}", report.method, report.device)?;
    writeln!(
        out,
        "copy limit: {:.1} GB/s, read and written",
        report.copy_gbps
    )?;
    let width = report
        .rows
        .iter()
        .map(|r| r.schedule.len())
        .max()
        .unwrap_or(0)
        .max(8);
    writeln!(
        out,
        "{:<width$} {:>11} {:>10} {:>7} {:>9} {:>8} {:>7}",
        "schedule", "size", "median ms", "spread", "ns/pixel", "GB/s", "/copy"
    )?;
    for row in &report.rows {
        writeln!(
            out,
            "{:<width$} {:>11} {:>10.3} {:>6.1}% {:>9.3} {:>8.1} {:>7.2}",
            row.schedule,
            row.size,
            row.median_ms,
            100.0 * row.spread,
            row.ns_per_pixel,
            row.gbps,
            row.ratio_to_copy
        )?;
        if passes {
            for pass in &row.passes {
                writeln!(out, "  {:<width$} {:>20.3} ms", pass.name, pass.ms)?;
            }
        }
    }
    Ok(())
}
