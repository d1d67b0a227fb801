//! A page to look at images and their errors, in one file that needs nothing else.

use super::{Comparison, Options, Scores, Space};
use crate::io::{self, Bits, Format, Transfer, WriteOptions};
use crate::{Frame, Image, Result};
use serde_json::json;
use std::path::Path;

const TEMPLATE: &str = include_str!("page.html");

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

/// An image that was compared.
#[derive(Debug, Clone)]
pub struct Compared {
    /// What it is called.
    pub name: String,
    /// What was found.
    pub comparison: Comparison,
    /// The image for a screen; the reference's when none.
    pub shown: Option<Image>,
}

/// An image as a page shows it: for a screen.
pub fn shown(image: &Image, options: &Options) -> Image {
    match options.space {
        Space::Linear => super::display(image, options.exposure),
        Space::Display => image.clone(),
    }
}

/// Writes the page, whole or not at all. `reference` is for a screen, see [`shown`].
///
/// ```
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
    let text = page(name, reference, all, options)?;
    io::write_whole(path, text.as_bytes())
}

fn page(reference: &str, shown: &Image, all: &[Compared], options: &Options) -> Result<String> {
    let mut images = Vec::new();
    for compared in all {
        let image = compared.shown.as_ref().unwrap_or(shown);
        images.push(json!({
            "name": compared.name,
            "image": uri(image)?,
            "flip": uri(&compared.comparison.flip.picture())?,
        }));
    }
    let data =
        json!({ "reference": { "name": reference, "image": uri(shown)? }, "images": images });
    let fill = [
        ("{{reference}}", escaped(reference)),
        ("{{facts}}", escaped(&facts(shown, all, options))),
        ("{{heading}}", heading()),
        ("{{rows}}", rows(all)),
        // A name with "</script>" must not end the script.
        ("{{data}}", data.to_string().replace('<', "\\u003c")),
    ];
    Ok(filled(TEMPLATE, &fill))
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

/// How the numbers and the pictures were made.
fn facts(shown: &Image, all: &[Compared], options: &Options) -> String {
    let size = shown.size();
    let exposures = all.first().and_then(|c| c.comparison.flip.exposures);
    match (options.space, exposures) {
        (Space::Linear, Some(e)) => format!(
            "{size}, linear light. MSE and relative errors of radiance; PSNR, SSIM and pictures at {:+} stops, clamped, \
             sRGB; FLIP over {} exposures from {:+.1} to {:+.1} stops.",
            options.exposure, e.count, e.start, e.stop
        ),
        _ => format!("{size}, display values. All metrics of the values in the files."),
    }
}

fn heading() -> String {
    let cells = COLUMNS.map(|(name, _, greater)| {
        let arrow = if greater { "↑" } else { "↓" };
        format!("<th>{name} {arrow}</th>")
    });
    cells.concat()
}

/// The table's rows, the best number of each column marked.
fn rows(all: &[Compared]) -> String {
    let best = COLUMNS.map(|(_, value, greater)| {
        let values = all.iter().map(|c| value(&c.comparison.scores));
        match greater {
            true => values.fold(f64::NEG_INFINITY, f64::max),
            false => values.fold(f64::INFINITY, f64::min),
        }
    });
    let mut text = String::new();
    for (i, compared) in all.iter().enumerate() {
        text += &format!(
            "<tr data-index=\"{i}\"><td><button>{}</button></td>",
            escaped(&compared.name)
        );
        for ((_, value, _), best) in COLUMNS.iter().zip(best) {
            let v = value(&compared.comparison.scores);
            let class = if v == best && all.len() > 1 {
                " class=\"best\""
            } else {
                ""
            };
            text += &format!("<td{class}>{}</td>", number(v));
        }
        text += "</tr>\n";
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A picture of display values inside an address.
fn uri(image: &Image) -> Result<String> {
    let options = WriteOptions {
        bits: Some(Bits::Eight),
        transfer: Some(Transfer::Encoded),
        ..WriteOptions::default()
    };
    let bytes = io::encode(Format::Png, &Frame::new(image.clone())?, &options)?;
    Ok(format!("data:image/png;base64,{}", base64(&bytes)))
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
        let image = Image::new(3, 2, 3);
        let options = Options::new(Space::Display);
        let comparison = crate::metric::compare(&image, &image, &options).unwrap();
        let all = [Compared {
            name: "</script><b>\".png".to_owned(),
            comparison,
            shown: None,
        }];
        let text = page("<u>", &image, &all, &options).unwrap();
        assert_eq!(text.matches("</script>").count(), 1);
        assert!(!text.contains("<b>") && !text.contains("<u>"));
        assert!(!text.contains("{{"));
    }
}
