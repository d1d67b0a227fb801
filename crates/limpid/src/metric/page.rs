//! A page to look at, in one file that needs nothing else.
//!
//! Pictures are stored with 8 bits along a curve that keeps dark and bright light apart, so that the page can change the
//! exposure. Small pages hold PNG pictures; large ones hold JPEG pictures, of less quality or size until the page fits.

use super::{Exposures, Options, Scores, Space};
use crate::io::{self, Bits, Format, Transfer, WriteOptions};
use crate::{Frame, Image, Result, Size};
use serde_json::{Value, json};
use std::path::Path;

/// Heading, value, whether greater is better.
pub type Column = (&'static str, fn(&Scores) -> f64, bool);

/// The columns of a table of scores, in order.
pub const COLUMNS: [Column; 6] = [
    ("MSE", |s| s.mse, false),
    ("relMSE", |s| s.relmse, false),
    ("RMSE Vicini", |s| s.rmse_vicini, false),
    ("PSNR dB", |s| s.psnr, true),
    ("SSIM", |s| s.ssim, true),
    ("FLIP", |s| s.flip, false),
];

/// Five digits: plain where they are readable, with an exponent where they are not.
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

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The most bytes that pictures may take: with base64, 4/3 of it, the page stays below 20 MB.
const MOST_BYTES: f64 = 14e6;
/// Up to this many pixels in all, pictures are stored without loss.
const EXACT_PIXELS: usize = 3_000_000;
/// Longest side of a thumbnail.
const THUMB: usize = 240;
/// Where the curve of linear light begins to be logarithmic.
const TOE: f32 = 0.005;
/// JPEG qualities that are tried.
const QUALITIES: [u8; 4] = [92, 85, 75, 62];

/// A picture on the page.
#[derive(Debug, Clone)]
pub struct Item {
    /// Its name or file.
    pub name: String,
    /// The picture.
    pub image: Image,
    /// What its values are.
    pub space: Space,
    /// How far it is from the reference.
    pub scores: Option<Scores>,
    /// How far each pixel is, as a picture.
    pub map: Option<Image>,
    /// How long it took to make.
    pub seconds: Option<f64>,
}

/// What a page shows.
///
/// ```
/// use limpid::{Image, metric::{Space, page::{Item, Page}}};
/// let page = Page {
///     title: "a black square".to_owned(),
///     facts: String::new(),
///     items: vec![Item {
///         name: "black".to_owned(),
///         image: Image::new(8, 8, 3),
///         space: Space::Display,
///         scores: None,
///         map: None,
///         seconds: None,
///     }],
///     reference: None,
/// };
/// let path = std::env::temp_dir().join("limpid-page-example.html");
/// page.write(&path)?;
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), limpid::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// A line about how the numbers and pictures were made.
    pub facts: String,
    /// The pictures.
    pub items: Vec<Item>,
    /// Which item is the reference.
    pub reference: Option<usize>,
}

/// How the numbers and the pictures of a page were made.
pub fn facts(size: Size, exposures: Option<Exposures>, options: &Options) -> String {
    match (options.space, exposures) {
        (Space::Linear, Some(e)) => format!(
            "{size}, linear light. MSE and relative errors of radiance; PSNR and SSIM at {:+} stops, clamped, sRGB; FLIP over {} \
             exposures from {:+.1} to {:+.1} stops.",
            options.exposure, e.count, e.start, e.stop
        ),
        _ => format!("{size}, display values. All metrics of the values in the files."),
    }
}

impl Page {
    /// Writes the page, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        io::write_whole(path, self.text()?.as_bytes())
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
        let coded: Vec<(Image, Curve)> = self.items.iter().map(Curve::apply).collect();
        let maps: Vec<Option<Image>> = self.items.iter().map(|i| i.map.clone()).collect();
        let images: Vec<&Image> = coded.iter().map(|(i, _)| i).collect();
        let form = Form::fitting(&images, &maps)?;
        let rows: Vec<Option<Vec<f64>>> = self.items.iter().map(|i| self.numbers(i)).collect();
        let mut values = Vec::new();
        for (i, item) in self.items.iter().enumerate() {
            let (image, curve) = &coded[i];
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
            let map = maps[i].as_ref().map(|m| form.uri(m)).transpose()?;
            values.push(json!({
                "name": item.name,
                "short": short(&item.name, &self.items),
                "width": item.image.width(),
                "height": item.image.height(),
                "toe": curve.toe,
                "top": curve.top,
                "image": form.uri(image)?,
                "thumb": thumb(item)?,
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

/// The name of the file alone, where that tells the items apart.
fn short(name: &str, items: &[Item]) -> String {
    let last = |name: &str| name.rsplit(['/', '\\']).next().unwrap_or(name).to_owned();
    let mine = last(name);
    match items.iter().filter(|i| last(&i.name) == mine).count() {
        1 => mine,
        _ => name.to_owned(),
    }
}

/// How the values of a picture are stored: display values as they are, linear light as `ln(1 + v / toe) / ln(1 + top / toe)`.
struct Curve {
    toe: f32,
    top: f32,
}

impl Curve {
    fn apply(item: &Item) -> (Image, Self) {
        if item.space == Space::Display {
            return (item.image.clone(), Self { toe: 0.0, top: 1.0 });
        }
        let most = |m: f32, v: &f32| if v.is_finite() { m.max(*v) } else { m };
        let top = item.image.data().iter().fold(1.0, most).min(256.0);
        let scale = 1.0 / (1.0 + top / TOE).ln();
        let code = |v: f32| match v > 0.0 {
            true => (1.0 + v.min(top) / TOE).ln() * scale,
            false => 0.0,
        };
        (item.image.map(code), Self { toe: TOE, top })
    }
}

/// How the pictures of a page are stored.
#[derive(Clone, Copy)]
struct Form {
    /// JPEG quality; PNG if none.
    quality: Option<u8>,
    /// How many pixels become one, along each side.
    shrink: usize,
}

impl Form {
    /// The best form in which all pictures fit.
    fn fitting(images: &[&Image], maps: &[Option<Image>]) -> Result<Self> {
        let all: Vec<&Image> = images
            .iter()
            .copied()
            .chain(maps.iter().flatten())
            .collect();
        let pixels: usize = all.iter().map(|i| i.size().pixels()).sum();
        if pixels <= EXACT_PIXELS {
            return Ok(Self {
                quality: None,
                shrink: 1,
            });
        }
        let mut shrink = 1;
        loop {
            for quality in QUALITIES {
                let form = Self {
                    quality: Some(quality),
                    shrink,
                };
                let mut bytes = 0.0;
                for image in &all {
                    bytes += form.estimate(image)?;
                }
                if bytes <= MOST_BYTES {
                    return Ok(form);
                }
            }
            shrink *= 2;
        }
    }

    /// Bytes of a picture, by a part of it.
    fn estimate(self, image: &Image) -> Result<f64> {
        const SIDE: usize = 384;
        let part = |length: usize| {
            let side = (SIDE * self.shrink).min(length);
            ((length - side) / 2, side)
        };
        let ((x, width), (y, height)) = (part(image.width()), part(image.height()));
        let sample = image.crop(x, y, Size::new(width, height));
        let share = image.size().pixels() as f64 / sample.size().pixels() as f64;
        // The middle of a picture is often busier or calmer than the rest.
        Ok(1.15 * share * self.bytes(&sample)?.len() as f64)
    }

    fn bytes(self, image: &Image) -> Result<Vec<u8>> {
        let options = WriteOptions {
            bits: Some(Bits::Eight),
            transfer: Some(Transfer::Encoded),
            quality: self.quality,
            ..WriteOptions::default()
        };
        let format = match self.quality {
            Some(_) => Format::Jpeg,
            None => Format::Png,
        };
        io::encode(format, &Frame::new(shrunk(image, self.shrink))?, &options)
    }

    /// A picture inside an address.
    fn uri(self, image: &Image) -> Result<String> {
        let kind = if self.quality.is_some() {
            "jpeg"
        } else {
            "png"
        };
        let bytes = self.bytes(image)?;
        Ok(format!("data:image/{kind};base64,{}", base64(&bytes)))
    }
}

/// Every pixel the mean of a square.
fn shrunk(image: &Image, by: usize) -> Image {
    if by <= 1 {
        return image.clone();
    }
    let (width, height) = (image.width(), image.height());
    let (w, h) = (width.div_ceil(by), height.div_ceil(by));
    Image::from_fn(w, h, image.channels(), |x, y, c| {
        let plane = image.plane(c);
        let (x1, y1) = ((x * by + by).min(width), (y * by + by).min(height));
        let mut sum = 0.0;
        for row in y * by..y1 {
            sum += plane[row * width + x * by..row * width + x1]
                .iter()
                .sum::<f32>();
        }
        sum / ((x1 - x * by) * (y1 - y * by)) as f32
    })
}

/// A small picture of display values.
fn thumb(item: &Item) -> Result<String> {
    let side = item.image.width().max(item.image.height());
    let small = shrunk(&item.image, side.div_ceil(THUMB).max(1));
    let shown = match item.space {
        Space::Linear => super::display(&small, 0.0),
        Space::Display => small,
    };
    let form = Form {
        quality: Some(80),
        shrink: 1,
    };
    form.uri(&shown)
}

/// Replaces the marks of the template; what is filled in is not looked at again.
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

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |i: usize| three.get(i).map_or(0, |b| u32::from(*b));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= three.len() { digit as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648, section 10.
    #[test]
    fn base64_as_the_standard() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, coded) in cases {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn numbers_have_about_five_digits() {
        let cases = [
            (0.0, "0"),
            (0.123_456, "0.1235"),
            (12.345_6, "12.35"),
            (1234.56, "1234.6"),
            (1.5e-7, "1.500e-7"),
            (2e9, "2.000e9"),
            (f64::INFINITY, "∞"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
    }

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

    /// What does not fit is stored with less quality, then with fewer pixels.
    #[test]
    fn large_pictures_are_made_smaller() {
        let mut state = 1u32;
        let noise = Image::from_fn(3000, 2000, 3, |_, _, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        });
        let small = Image::new(100, 100, 3);
        assert!(Form::fitting(&[&small], &[None]).unwrap().quality.is_none());
        let form = Form::fitting(&[&noise, &noise, &noise, &noise], &[None]).unwrap();
        assert!(form.quality.is_some());
        let bytes = 4 * form.bytes(&noise).unwrap().len();
        assert!((bytes as f64) < 1.05 * MOST_BYTES, "{bytes}");
    }
}
