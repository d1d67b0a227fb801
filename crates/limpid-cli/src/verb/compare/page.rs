//! A page to look at, in one file that needs nothing else.
//!
//! Pictures are stored with 8 bits along a curve that keeps dark and bright light apart, so that the page can change the
//! exposure. Small pages hold PNG pictures; large ones hold JPEG pictures, of less quality or size until the page fits.

use super::table::{COLUMNS, number};
use anyhow::{Context, Result};
use limpid::io::{self, Bits, Transfer, WriteOptions};
use limpid::metric::{Scores, Space};
use limpid::{Frame, Image};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

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
pub(crate) struct Item {
    /// Its file.
    pub(crate) name: String,
    pub(crate) image: Image,
    pub(crate) space: Space,
    /// How far it is from the reference.
    pub(crate) scores: Option<Scores>,
    /// How far each pixel is, as a picture.
    pub(crate) map: Option<Image>,
    /// How long it took to make.
    pub(crate) seconds: Option<f64>,
}

/// What a page shows.
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) facts: String,
    pub(crate) items: Vec<Item>,
    /// Which item is the reference.
    pub(crate) reference: Option<usize>,
}

impl Page {
    /// Writes the page, whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text = self.text()?;
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let named = || path.display().to_string();
        let mut builder = tempfile::Builder::new();
        builder.prefix(".limpid-").suffix(".tmp");
        #[cfg(unix)]
        {
            // What the user's mask allows, as for any other file.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let mut file = builder.tempfile_in(folder).with_context(named)?;
        file.write_all(text.as_bytes()).with_context(named)?;
        file.persist(path).with_context(named)?;
        Ok(())
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
        let coded: Vec<(Image, Curve)> = self.items.par_iter().map(Curve::apply).collect();
        let maps: Vec<Option<Image>> = self.items.iter().map(|i| i.map.clone()).collect();
        let images: Vec<&Image> = coded.iter().map(|(i, _)| i).collect();
        let form = Form::fitting(&images, &maps)?;
        let rows: Vec<Option<Vec<f64>>> = self.items.iter().map(|i| self.numbers(i)).collect();
        let pictures = self.items.par_iter().zip(&coded).zip(&maps);
        let pictures: Vec<(String, String, Option<String>)> = pictures
            .map(|((item, (image, _)), map)| {
                let map = map.as_ref().map(|m| form.uri(m)).transpose()?;
                Ok((form.uri(image)?, thumb(item)?, map))
            })
            .collect::<Result<_>>()?;
        let mut values = Vec::new();
        for (i, item) in self.items.iter().enumerate() {
            let curve = &coded[i].1;
            let (image, thumb, map) = &pictures[i];
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
                "image": image,
                "thumb": thumb,
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
                let bytes: Vec<f64> = (all.par_iter())
                    .map(|image| form.estimate(image))
                    .collect::<Result<_>>()?;
                if bytes.iter().sum::<f64>() <= MOST_BYTES {
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
        let sample = image.crop(x, y, limpid::Size::new(width, height));
        let share = image.size().pixels() as f64 / sample.size().pixels() as f64;
        // The middle of a picture is often busier or calmer than the rest.
        Ok(1.15 * share * self.bytes(&sample)?.len() as f64)
    }

    fn bytes(self, image: &Image) -> Result<Vec<u8>> {
        let mut options = WriteOptions::default();
        options.bits = Some(Bits::Eight);
        options.transfer = Some(Transfer::Encoded);
        options.quality = self.quality;
        let folder = tempfile::tempdir().context("a folder for pictures")?;
        let kind = if self.quality.is_some() { "jpg" } else { "png" };
        let path = folder.path().join("picture").with_extension(kind);
        let frame = Frame::new(shrunk(image, self.shrink))?;
        io::write(&path, &frame, None, &options)?;
        std::fs::read(&path).context("a picture of the page")
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
        Space::Linear => limpid::metric::display(&small, 0.0),
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
