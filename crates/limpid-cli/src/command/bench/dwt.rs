//! `limpid bench dwt`: forward and inverse wavelet transforms by all schedules, relative to a copy.

use super::Args;
use super::plot::{Bar, Chart};
use crate::run;
use crate::say::{OrUsage, tell};
use anyhow::Result;
use limpid::exec::PassTime;
use limpid::method::{Backend, Dwt, Idwt, Method, Schedule, schedule};
use limpid::{Denoiser, Device, Frame, Image, Options, Size};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// The measurements.
#[derive(Serialize)]
struct Report {
    runs: usize,
    rows: Vec<Row>,
}

/// A forward and an inverse transform, one plane.
#[derive(Serialize)]
struct Row {
    device: String,
    size: String,
    wavelet: &'static str,
    levels: usize,
    schedule: String,
    /// Nanoseconds per pixel.
    forward: f64,
    /// Nanoseconds per pixel.
    inverse: f64,
    /// Nanoseconds per pixel of a copy, measured right before.
    copy: f64,
}

/// Wavelets and levels when all schedules are compared.
const WAVELETS: [&str; 3] = ["cdf53", "cdf97", "dd137"];

pub(super) fn run(args: &Args) -> Result<()> {
    let device = args.how.open()?;
    let mut report = Report {
        runs: args.runs.max(1),
        rows: Vec::new(),
    };
    match device.backend() {
        Backend::Cpu => {
            let size = args.size.unwrap_or(Size::new(4096, 4096));
            let all = std::thread::available_parallelism().map_or(1, usize::from);
            let counts = match run::threads() {
                Some(count) => vec![count],
                None if all > 1 => vec![1, all],
                None => vec![1],
            };
            for threads in counts {
                let device = Device::open_with("cpu", Some(threads), false)?;
                for wavelet in WAVELETS {
                    for levels in [1, 5] {
                        report.add(&device, size, wavelet, levels, args)?;
                    }
                }
                report.add(&device, Size::new(512, 512), "cdf97", 1, args)?;
            }
        }
        Backend::Gpu => {
            let size = args.size.unwrap_or(Size::new(8192, 8192));
            for wavelet in WAVELETS {
                report.add(&device, size, wavelet, 1, args)?;
            }
            report.add(&device, size, "cdf97", 5, args)?;
        }
    }
    if let Some(path) = &args.svg {
        plot(&report, path)?;
    }
    if args.json {
        tell!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    print(&report)
}

/// About how many bars a plot shows. The table has all schedules.
const BARS: usize = 60;

/// The most schedules that a plot shows of each transform, besides the default.
const FASTEST: usize = 4;

/// The default schedule of each transform on each device, which is measured first, and the fastest others.
fn shown(rows: &[Row]) -> Vec<&Row> {
    let same = |a: &Row, b: &Row| {
        let key = |r: &Row| (r.device.clone(), r.size.clone(), r.wavelet, r.levels);
        key(a) == key(b)
    };
    // Two bars for each schedule, forward and inverse.
    let fastest = BARS / (2 * rows.chunk_by(same).count().max(1));
    let fastest = fastest.saturating_sub(1).clamp(1, FASTEST);
    let mut shown = Vec::new();
    for group in rows.chunk_by(same) {
        let time = |row: &Row| row.forward + row.inverse;
        let [default, others @ ..] = group else {
            continue;
        };
        let mut others: Vec<&Row> = others.iter().filter(|r| time(r).is_finite()).collect();
        others.sort_by(|a, b| time(a).total_cmp(&time(b)));
        shown.push(default);
        shown.extend(others.into_iter().take(fastest));
    }
    shown
}

/// Bars of the time relative to a copy: forward, and inverse where it differs.
fn plot(report: &Report, path: &Path) -> Result<()> {
    let mut bars = Vec::new();
    for row in shown(&report.rows) {
        let levels = if row.levels == 1 { "level" } else { "levels" };
        for (name, time) in [("forward", row.forward), ("inverse", row.inverse)] {
            if time.is_finite() {
                bars.push(Bar {
                    name: format!(
                        "{} {} {levels}, {}, {name}, {}",
                        row.wavelet, row.levels, row.schedule, row.device
                    ),
                    value: time / row.copy,
                    label: format!("{:.2}  ({time:.3} ns per pixel)", time / row.copy),
                });
            }
        }
    }
    let sizes: Vec<&str> = report.rows.iter().map(|r| r.size.as_str()).collect();
    let devices: Vec<&str> = report.rows.iter().map(|r| r.device.as_str()).collect();
    let chart = Chart {
        title: format!(
            "Wavelet transform at {}, one plane of floats",
            distinct(&sizes)
        ),
        about: format!(
            "{}; the default and the fastest schedules; time relative to a copy",
            distinct(&devices)
        ),
        unit: "copy".to_owned(),
        bars,
    };
    chart.write(path)
}

/// Names, each once.
fn distinct(names: &[&str]) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if !seen.contains(name) {
            seen.push(name);
        }
    }
    seen.join(" and ")
}

impl Report {
    /// Measures all schedules of a transform.
    fn add(
        &mut self,
        device: &Device,
        size: Size,
        wavelet: &'static str,
        levels: usize,
        args: &Args,
    ) -> Result<()> {
        let forward = Dwt::with(|m| {
            m.wavelet = wavelet.to_owned();
            m.levels = levels;
        });
        let inverse = Idwt::with(|m| {
            m.wavelet = wavelet.to_owned();
            m.levels = levels;
        });
        let frame = Frame::new(noise(size))?;
        let ns = |time: Duration| 1e9 * time.as_secs_f64() / size.pixels() as f64;
        let schedules = match &args.how.schedule {
            Some(name) => vec![schedule(&forward, device.backend(), name).or_usage()?],
            None => forward.schedules(device.backend()),
        };
        for schedule in schedules {
            let name = schedule.to_string();
            let copy = ns(device.copy_time(4 * size.pixels(), self.runs)?);
            let time = |method: &dyn Method| -> limpid::Result<f64> {
                // The inverse has no texture to read from.
                if self::schedule(method, device.backend(), &name).is_err() {
                    return Ok(f64::NAN);
                }
                median(device, &frame, method, &schedule, self.runs).map(ns)
            };
            match (time(&forward), time(&inverse)) {
                (Ok(forward), Ok(inverse)) => self.rows.push(Row {
                    device: device.name(),
                    size: size.to_string(),
                    wavelet,
                    levels,
                    schedule: name,
                    forward,
                    inverse,
                    copy,
                }),
                (Err(error), _) | (_, Err(error)) => {
                    crate::say::line(&format!("limpid: {wavelet} {name}: {error}"));
                }
            }
        }
        Ok(())
    }
}

fn median(
    device: &Device,
    frame: &Frame,
    method: &dyn Method,
    schedule: &Schedule,
    runs: usize,
) -> limpid::Result<Duration> {
    let mut options = Options::of(method.boxed());
    options.schedule = schedule.clone().into();
    let mut denoiser = Denoiser::new(device, &frame.shape(), &options)?;
    denoiser.time_together();
    let sum = |passes: Vec<PassTime>| passes.iter().map(|p| p.time).sum::<Duration>();
    let mut times: Vec<Duration> = denoiser
        .measure(std::slice::from_ref(frame), runs)?
        .into_iter()
        .map(sum)
        .collect();
    times.sort();
    Ok(times[times.len() / 2])
}

fn noise(size: Size) -> Image {
    let mut state = 1u32;
    Image::from_fn(size.width, size.height, 1, |_, _, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    })
}

fn print(report: &Report) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "one plane of floats, medians of {} runs, nanoseconds per pixel; ratios to a copy measured right before",
        report.runs
    )?;
    let name = |r: &Row| r.schedule.len();
    let wide = report.rows.iter().map(name).max().unwrap_or(0).max(8);
    let mut last = String::new();
    for row in &report.rows {
        if row.device != last {
            last.clone_from(&row.device);
            writeln!(out, "\n{last}")?;
            writeln!(
                out,
                "{:<10} {:<7} {:>6} {:<wide$} {:>7} {:>8} {:>8} {:>8} {:>8}",
                "size",
                "wavelet",
                "levels",
                "schedule",
                "copy",
                "forward",
                "inverse",
                "fwd/copy",
                "inv/copy"
            )?;
        }
        writeln!(
            out,
            "{:<10} {:<7} {:>6} {:<wide$} {:>7.3} {:>8.3} {:>8.3} {:>8.2} {:>8.2}",
            row.size,
            row.wavelet,
            row.levels,
            row.schedule,
            row.copy,
            row.forward,
            row.inverse,
            row.forward / row.copy,
            row.inverse / row.copy
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_show_the_default_and_the_fastest() {
        let row = |device: &str, schedule: &str, time: f64| Row {
            device: device.to_owned(),
            size: "8x8".to_owned(),
            wavelet: "cdf97",
            levels: 1,
            schedule: schedule.to_owned(),
            forward: time,
            inverse: time,
            copy: 1.0,
        };
        let rows: Vec<Row> = ["one", "two"]
            .into_iter()
            .flat_map(|device| {
                let other = |i: usize| row(device, &format!("s{i}"), 100.0 - i as f64);
                std::iter::once(row(device, "usual", 500.0)).chain((0..50).map(other))
            })
            .collect();
        let names: Vec<String> = shown(&rows)
            .iter()
            .map(|r| format!("{} {}", r.device, r.schedule))
            .collect();
        let wanted = ["usual", "s49", "s48", "s47", "s46"];
        let wanted = ["one", "two"].map(|d| wanted.map(|s| format!("{d} {s}")));
        assert_eq!(names, wanted.concat());
    }
}
