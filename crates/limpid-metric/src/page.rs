//! A page that shows images and their errors, in one self-contained file.
//!
//! Any two images can be compared: with a slider, side by side, by flipping, as a difference; with zoom, exposure and false
//! colour. Pictures are stored with 8 bits on a logarithmic curve, so that the page can change the exposure. Small pages
//! contain PNG pictures; large ones contain JPEG pictures, with lower quality or resolution until the page fits.

mod picture;

use super::{Comparison, Options, Scores, Space};
use limpid_core::{Image, Result};
#[doc(hidden)]
pub use picture::coded;
use picture::{Curve, Form, thumb};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;

const TEMPLATE: &str = include_str!("page/page.html");
const VIEWER: &str = include_str!("page/viewer.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Heading, value, whether larger is better.
#[doc(hidden)]
pub type Column = (&'static str, fn(&Scores) -> f64, bool);

/// The columns of a table of scores, in order.
#[doc(hidden)]
pub const COLUMNS: [Column; 6] = [
    ("MSE", |s| s.mse, false),
    ("relMSE", |s| s.relmse, false),
    ("RMSE Vicini", |s| s.rmse_vicini, false),
    ("PSNR dB", |s| s.psnr, true),
    ("SSIM", |s| s.ssim, true),
    ("FLIP", |s| s.flip, false),
];

/// Formats a number with five digits: plain if that is readable, otherwise with an exponent.
#[doc(hidden)]
pub fn number(v: f64) -> String {
    match v.abs() {
        0.0 => "0".to_owned(),
        a if a.is_infinite() => "∞".to_owned(),
        a if !(1e-3..1e5).contains(&a) => format!("{v:.3e}"),
        a if a >= 100.0 => format!("{v:.1}"),
        a if a >= 10.0 => format!("{v:.2}"),
        _ => format!("{v:.4}"),
    }
}

/// An image that was compared with a reference.
#[derive(Debug, Clone)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// The result of the comparison.
    pub comparison: Comparison,
    /// The image, see [`shown`]; `None` for the reference.
    pub shown: Option<Image>,
}

/// An image as [`write()`] expects it: the values that were compared, since the page itself applies exposure and curve.
#[doc(hidden)]
pub fn shown(image: &Image, _options: &Options) -> Image {
    image.clone()
}

/// Writes a page about images and their reference, completely or not at all.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod metric { pub use limpid_metric::*; } }
/// use limpid::{Image, metric::{Options, Space, compare, page}};
/// let (image, options) = (Image::new(8, 8, 3), Options::new(Space::Display));
/// let found = page::Compared {
///     name: "noisy".to_owned(),
///     comparison: compare(&image, &image, &options)?,
///     shown: None,
/// };
/// let path = std::env::temp_dir().join("limpid-page-example.html");
/// page::write(&path, "reference", &image, &[found], &options)?;
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn write(
    path: &Path,
    name: &str,
    reference: &Image,
    all: &[Compared],
    options: &Options,
) -> Result<()> {
    let mut items: Vec<Item> = all
        .iter()
        .map(|compared| Item {
            scores: Some(compared.comparison.scores),
            map: Some(compared.comparison.flip.picture()),
            ..Item::new(
                &compared.name,
                compared.shown.as_ref().unwrap_or(reference).clone(),
                options.space,
            )
        })
        .collect();
    items.push(Item::new(name, reference.clone(), options.space));
    let page = Page {
        title: name.to_owned(),
        facts: facts(reference, all.first().map(|c| &c.comparison), options),
        reference: Some(items.len() - 1),
        items,
    };
    page.write(path)
}

/// A description of how the numbers of a page were computed.
#[doc(hidden)]
pub fn facts(image: &Image, first: Option<&Comparison>, options: &Options) -> String {
    let size = image.size();
    match (options.space, first.and_then(|c| c.flip.exposures)) {
        (Space::Linear, Some(e)) => format!(
            "{size}, linear light. MSE and relative errors of radiance; PSNR and SSIM at {:+} stops, clamped, sRGB; FLIP over {} \
             exposures from {:+.1} to {:+.1} stops.",
            options.exposure, e.count, e.start, e.stop
        ),
        _ => format!("{size}, display values. All metrics of the values in the files."),
    }
}

/// A picture on the page.
#[derive(Debug, Clone)]
pub struct Item {
    /// Its name, for example of a file.
    pub name: String,
    /// Its pixels.
    pub image: Image,
    /// Their space.
    pub space: Space,
    /// Its errors.
    pub scores: Option<Scores>,
    /// The error of each pixel, as a picture.
    pub map: Option<Image>,
    /// The time it took to compute.
    pub seconds: Option<f64>,
}

impl Item {
    /// A picture without further information.
    pub fn new(name: &str, image: Image, space: Space) -> Self {
        Self {
            name: name.to_owned(),
            image,
            space,
            scores: None,
            map: None,
            seconds: None,
        }
    }
}

/// The contents of a page.
#[derive(Debug, Clone)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// A line below the title.
    pub facts: String,
    /// Its pictures, at least one.
    pub items: Vec<Item>,
    /// Which item is the reference.
    pub reference: Option<usize>,
}

impl Page {
    /// Writes the page, completely or not at all.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        limpid_io::write_whole(path.as_ref(), self.text()?.as_bytes())
    }

    fn text(&self) -> Result<String> {
        let data = json!({
            "reference": self.reference,
            "columns": self.columns(),
            "items": self.values()?,
        });
        let fill = [
            ("{{title}}", escaped(&self.title)),
            ("{{facts}}", escaped(&self.facts)),
            ("{{viewer}}", VIEWER.to_owned()),
            ("{{style}}", STYLE.to_owned()),
            ("{{script}}", SCRIPT.to_owned()),
            // A name with "</script>" must not end the data.
            ("{{data}}", data.to_string().replace('<', "\\u003c")),
        ];
        Ok(filled(TEMPLATE, &fill))
    }

    fn has_scores(&self) -> bool {
        self.items.iter().any(|i| i.scores.is_some())
    }

    fn has_times(&self) -> bool {
        self.items.iter().any(|i| i.seconds.is_some())
    }

    fn columns(&self) -> Vec<Value> {
        let mut columns = Vec::new();
        if self.has_scores() {
            let column =
                |(name, _, greater): (&str, _, bool)| json!({ "name": name, "greater": greater });
            columns.extend(COLUMNS.map(column));
            if self.has_times() {
                columns.push(json!({ "name": "seconds", "greater": false }));
            }
        }
        columns
    }

    /// The numbers of an item, in the order of the columns.
    fn numbers(&self, item: &Item) -> Option<Vec<f64>> {
        let scores = item.scores.as_ref()?;
        let mut all: Vec<f64> = COLUMNS.iter().map(|(_, value, _)| value(scores)).collect();
        if self.has_times() {
            all.push(item.seconds.unwrap_or(f64::NAN));
        }
        Some(all)
    }

    fn values(&self) -> Result<Vec<Value>> {
        let coded: Vec<(Cow<'_, Image>, Curve)> = (self.items.par_iter())
            .map(|item| Curve::apply(&item.image, item.space))
            .collect();
        let maps: Vec<&Image> = self.items.iter().filter_map(|i| i.map.as_ref()).collect();
        let all: Vec<&Image> = (coded.iter().map(|(i, _)| &**i).chain(maps)).collect();
        let form = Form::fitting(&all)?;
        let mut made: Vec<String> = (all.par_iter())
            .map(|image| form.uri(image))
            .collect::<Result<_>>()?;
        let mut map_uris = made.split_off(coded.len()).into_iter();
        let rows: Vec<Option<Vec<f64>>> = self.items.iter().map(|i| self.numbers(i)).collect();
        let thumbs: Vec<String> = (self.items.par_iter()).map(thumb).collect::<Result<_>>()?;
        let mut values = Vec::new();
        for (i, item) in self.items.iter().enumerate() {
            let curve = &coded[i].1;
            let map = item.map.as_ref().and_then(|_| map_uris.next());
            let best: Vec<bool> = (0..rows[i].as_ref().map_or(0, Vec::len))
                .map(|k| is_best(&rows, i, k))
                .collect();
            let texts: Option<Vec<String>> = rows[i].as_ref().map(|row| {
                let text = |v: &f64| match v.is_nan() {
                    true => String::new(),
                    false => number(*v),
                };
                row.iter().map(text).collect()
            });
            values.push(json!({
                "name": item.name,
                "short": short(&item.name, &self.items),
                "width": item.image.width(),
                "height": item.image.height(),
                "toe": curve.toe,
                "top": curve.top,
                "image": made[i],
                "thumb": thumbs[i],
                "map": map,
                "scores": rows[i],
                "text": texts,
                "best": best,
            }));
        }
        Ok(values)
    }
}

/// Whether a number is the best of its column.
fn is_best(rows: &[Option<Vec<f64>>], row: usize, column: usize) -> bool {
    let greater = COLUMNS.get(column).is_some_and(|c| c.2);
    let value = |r: &Option<Vec<f64>>| r.as_ref().map(|r| r[column]).filter(|v| !v.is_nan());
    let all: Vec<f64> = rows.iter().filter_map(value).collect();
    let best = match greater {
        true => all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        false => all.iter().copied().fold(f64::INFINITY, f64::min),
    };
    all.len() > 1 && value(&rows[row]) == Some(best)
}

/// The file name alone, if that distinguishes the items.
fn short(name: &str, items: &[Item]) -> String {
    let last = |name: &str| name.rsplit(['/', '\\']).next().unwrap_or(name).to_owned();
    let mine = last(name);
    match items.iter().filter(|i| last(&i.name) == mine).count() {
        1 => mine,
        _ => name.to_owned(),
    }
}

/// Replaces the placeholders of the template; inserted text is not scanned again.
fn filled(template: &str, fill: &[(&str, String)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((at, (mark, value))) = fill
        .iter()
        .filter_map(|f| rest.find(f.0).map(|at| (at, f)))
        .min_by_key(|(at, _)| *at)
    {
        text += &rest[..at];
        text += value;
        rest = &rest[at + mark.len()..];
    }
    text + rest
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        let fill = [("{{a}}", "{{b}}".to_owned()), ("{{b}}", "x".to_owned())];
        assert_eq!(filled("1{{a}}2{{b}}3", &fill), "1{{b}}2x3");
    }

    #[test]
    fn names_cannot_break_the_page() {
        let name = "</script><b>.png";
        let page = Page {
            title: "<u>".to_owned(),
            facts: String::new(),
            items: vec![Item {
                name: name.to_owned(),
                image: Image::new(2, 2, 3),
                space: Space::Display,
                scores: None,
                map: None,
                seconds: None,
            }],
            reference: None,
        };
        let text = page.text().unwrap();
        assert!(!text.contains("</script><b>") && !text.contains("<u>"));
        assert_eq!(text.matches("</script>").count(), 2);
    }
}
