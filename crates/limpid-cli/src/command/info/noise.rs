//! The noise of a picture, as a table and as a plot.

use crate::profile;
use crate::say::tell;
use anyhow::{Result, anyhow};
use limpid::noise::{Profile, SIDE};
use plotters::prelude::*;
use std::path::Path;

/// Rows of the table of strengths.
const ROWS: usize = 11;

/// Maximum length of a bar in characters.
const BAR: usize = 24;

pub(crate) fn run(path: &Path, svg: Option<&Path>, as_json: bool) -> Result<()> {
    let (profile, iso) = profile::measured(path)?;
    if let Some(svg) = svg {
        plot(&profile, path, svg)?;
    }
    if as_json {
        tell!("{}", profile.to_json());
    } else {
        let camera = iso.map_or(String::new(), |iso| format!(", ISO {iso} by EXIF"));
        tell!("{}: {}{camera}", path.display(), profile.summary());
        tell!("{}", as_text(&profile).trim_end());
    }
    Ok(())
}

fn names(profile: &Profile) -> [&'static [&'static str]; 2] {
    match profile.channels() {
        3 => [
            &["red", "green", "blue"],
            &["luminance", "red-blue", "green-magenta"],
        ],
        _ => [&["grey"], &["grey"]],
    }
}

fn value(profile: &Profile, row: usize, rows: usize) -> f32 {
    let [low, high] = profile.range;
    low + (high - low) * row as f32 / (rows - 1) as f32
}

fn as_text(profile: &Profile) -> String {
    let [channels, components] = names(profile);
    let most = profile
        .deviations
        .iter()
        .flatten()
        .fold(1e-12f32, |m, d| m.max(*d));
    let mut text = "standard deviation (of 255) at each brightness\n".to_owned();
    for row in 0..ROWS {
        let value = value(profile, row, ROWS);
        let all: Vec<f32> = (0..channels.len())
            .map(|c| profile.deviation(c, value))
            .collect();
        text += &format!("  {value:6.3}");
        for (name, d) in channels.iter().zip(&all) {
            text += &format!("  {name} {:6.2}", 255.0 * d);
        }
        let mean = all.iter().sum::<f32>() / all.len() as f32;
        text += &format!(
            "  {}\n",
            "#".repeat((mean / most * BAR as f32).round() as usize)
        );
    }
    text += "power at wavelengths of 16, 8, 5, 4, 3 and 2 pixels (white noise: 1 everywhere)\n";
    for (name, component) in components.iter().zip(&profile.components) {
        text += &format!("  {name:14} deviation {:5.2}  ", component.deviation);
        for band in bands(&component.spectrum.0) {
            text += &format!(" {band:5.2}");
        }
        text += "\n";
    }
    text
}

/// The mean power where the larger of both frequencies is 1, 2, 3, 4, 5 and more sixteenths of the sampling frequency.
fn bands(powers: &[f32; SIDE * SIDE]) -> [f32; 6] {
    std::array::from_fn(|band| {
        let of = |k: &usize| {
            let f = (k / SIDE).max(k % SIDE);
            if band == 5 { f > 5 } else { f == band + 1 }
        };
        let all: Vec<f32> = (0..SIDE * SIDE).filter(of).map(|k| powers[k]).collect();
        all.iter().sum::<f32>() / all.len() as f32
    })
}

fn plot(profile: &Profile, from: &Path, to: &Path) -> Result<()> {
    let root = SVGBackend::new(to, (900, 380)).into_drawing_area();
    draw(profile, from, &root).map_err(|e| anyhow!("{}: {e}", to.display()))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw(profile: &Profile, from: &Path, root: &Area<'_>) -> Result<(), Box<dyn std::error::Error>> {
    const COLORS: [RGBColor; 3] = [
        RGBColor(200, 50, 50),
        RGBColor(40, 140, 60),
        RGBColor(50, 80, 200),
    ];
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(450);
    let [low, high] = profile.range;
    let most = profile
        .deviations
        .iter()
        .flatten()
        .fold(1e-6f32, |m, d| m.max(*d));
    let mut chart = ChartBuilder::on(&left)
        .caption(
            format!("{}: deviation of 255", from.display()),
            ("sans-serif", 15),
        )
        .margin(8)
        .x_label_area_size(28)
        .y_label_area_size(40)
        .build_cartesian_2d(low..high, 0.0..255.0 * 1.1 * most)?;
    chart.configure_mesh().x_desc("value").draw()?;
    let gray = profile.channels() == 1;
    for c in 0..profile.channels() {
        let color = if gray { BLACK } else { COLORS[c] };
        let points = (0..=64).map(|i| {
            let v = value(profile, i, 65);
            (v, 255.0 * profile.deviation(c, v))
        });
        chart.draw_series(LineSeries::new(points, color.stroke_width(2)))?;
    }
    let all: Vec<[f32; 6]> = profile
        .components
        .iter()
        .map(|c| bands(&c.spectrum.0))
        .collect();
    let most = all.iter().flatten().fold(1.0f32, |m, b| m.max(*b));
    let mut chart = ChartBuilder::on(&right)
        .caption("power over frequency (luminance black)", ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(28)
        .y_label_area_size(40)
        .build_cartesian_2d(0.0f32..0.45, 0.0..1.1 * most)?;
    chart.configure_mesh().x_desc("cycles per pixel").draw()?;
    for (k, bands) in all.iter().enumerate() {
        let color = if k == 0 { BLACK } else { COLORS[2 * (k - 1)] };
        let points = bands
            .iter()
            .enumerate()
            .map(|(i, b)| ((i + 1) as f32 / 16.0, *b));
        chart.draw_series(LineSeries::new(points, color.stroke_width(2)))?;
    }
    root.present()?;
    Ok(())
}
