//! Reports as bar charts.

use super::Report;
use anyhow::{Result, anyhow};
use plotters::prelude::*;
use std::path::Path;

/// Where bars begin, and their maximum length.
const LEFT: i32 = 330;
const LONGEST: f64 = 420.0;
/// Room for the label after the longest bar, and for a letter of a name.
const LABEL: i32 = 150;
const LETTER: i32 = 7;
const BAR: i32 = 22;
const STEP: i32 = 30;
const TOP: i32 = 84;

/// A bar: its name, its length, and its label.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) label: String,
}

/// Bars under a title and a subtitle.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) about: String,
    /// What a bar of length 1 means.
    pub(super) unit: String,
    pub(super) bars: Vec<Bar>,
}

/// Bars that differ by more than this factor are drawn on a logarithmic scale.
const MOST: f64 = 50.0;

/// Lengths of bars on a linear scale, or on a logarithmic one if a linear one would hide most of them.
pub(super) struct Scale {
    low: f64,
    high: f64,
    pub(super) logarithmic: bool,
}

impl Scale {
    pub(super) fn new(values: impl Iterator<Item = f64> + Clone) -> Self {
        let good = values.filter(|v| v.is_finite() && *v > 0.0);
        let high = good.clone().fold(1e-12, f64::max);
        let low = good.fold(high, f64::min);
        let logarithmic = high / low > MOST;
        // The shortest bar must still be seen.
        let low = if logarithmic { low / 2.0 } else { 0.0 };
        Self {
            low,
            high,
            logarithmic,
        }
    }

    /// The share of the longest bar.
    pub(super) fn share(&self, value: f64) -> f64 {
        let share = match self.logarithmic {
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => value / self.high,
        };
        share.clamp(0.0, 1.0)
    }

    /// What is written beside the title.
    pub(super) fn name(&self) -> &'static str {
        if self.logarithmic {
            ", logarithmic scale"
        } else {
            ""
        }
    }
}

pub(super) fn write(report: &Report, path: &Path) -> Result<()> {
    let size = report.rows.first().map_or("", |r| r.size.as_str());
    let bar = |r: &super::Row| Bar {
        name: r.schedule.clone(),
        value: r.ratio_to_copy,
        label: format!("{:.2}  ({:.3} ms)", r.ratio_to_copy, r.median_ms),
    };
    let chart = Chart {
        title: format!("{} at {size}, {}", report.method, report.layers),
        about: format!("{}; time relative to a copy", report.device),
        unit: "copy".to_owned(),
        bars: report.rows.iter().map(bar).collect(),
    };
    chart.write(path)
}

impl Chart {
    /// Writes the chart as SVG.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let height = TOP + STEP * self.bars.len() as i32 + 14;
        let width = (self.left() + LONGEST as i32 + LABEL).max(1) as u32;
        let root = SVGBackend::new(path, (width, height.max(1) as u32)).into_drawing_area();
        self.draw(&root)
            .map_err(|e| anyhow!("{}: {e}", path.display()))
    }

    /// Where bars begin: after the longest name.
    fn left(&self) -> i32 {
        let longest = self.bars.iter().map(|b| b.name.chars().count()).max();
        LEFT.max(20 + LETTER * longest.unwrap_or(0) as i32)
    }

    fn draw(&self, root: &Area<'_>) -> Result<(), Box<dyn std::error::Error>> {
        root.fill(&WHITE)?;
        let small = ("sans-serif", 14).into_font();
        let values = self.bars.iter().map(|b| b.value);
        let scale = Scale::new(values.chain([1.0]));
        let title = Text::new(self.title.clone(), (10, 10), ("sans-serif", 18).into_font());
        root.draw(&title)?;
        let about = format!("{}{}", self.about, scale.name());
        root.draw(&Text::new(about, (10, 34), small.clone()))?;
        let left = self.left();
        let bottom = TOP + STEP * self.bars.len() as i32;
        for (i, bar) in self.bars.iter().enumerate() {
            let y = TOP + STEP * i as i32;
            root.draw(&Text::new(bar.name.clone(), (10, y + 4), small.clone()))?;
            let end = left + (LONGEST * scale.share(bar.value)) as i32;
            let color = RGBColor(70, 130, 180).filled();
            root.draw(&Rectangle::new(
                [(left, y), (end.max(left + 1), y + BAR)],
                color,
            ))?;
            root.draw(&Text::new(
                bar.label.clone(),
                (end + 6, y + 4),
                small.clone(),
            ))?;
        }
        let one = left + (LONGEST * scale.share(1.0)) as i32;
        root.draw(&PathElement::new(
            vec![(one, TOP - 6), (one, bottom)],
            BLACK,
        ))?;
        root.draw(&Text::new(
            self.unit.clone(),
            (one - 14, TOP - 22),
            ("sans-serif", 12).into_font(),
        ))?;
        root.present()?;
        Ok(())
    }
}

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn bars_that_differ_much_get_a_logarithmic_scale() {
        let plain = Scale::new([1.0, 20.0].into_iter());
        assert!(!plain.logarithmic);
        assert!((plain.share(10.0) - 0.5).abs() < 1e-9);
        let wide = Scale::new([1.0, 100.0, f64::NAN].into_iter());
        assert!(wide.logarithmic);
        assert!(wide.share(1.0) > 0.1 && wide.share(10.0) < 0.8);
        assert_eq!(wide.share(100.0), 1.0);
    }
}
