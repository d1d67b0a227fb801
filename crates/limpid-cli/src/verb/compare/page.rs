//! A page to look at, in one file that needs nothing else.

use super::Compared;
use super::table::{COLUMNS, number};
use anyhow::{Context, Result};
use limpid::io::{self, Bits, Transfer, WriteOptions};
use limpid::metric::{Options, Space};
use limpid::{Frame, Image};
use serde_json::json;
use std::io::Write;
use std::path::Path;

const TEMPLATE: &str = include_str!("page.html");

/// Writes the page, whole or not at all.
pub(super) fn write(
    path: &Path,
    reference: &str,
    shown: &Image,
    all: &[Compared],
    options: &Options,
) -> Result<()> {
    let text = page(reference, shown, all, options)?;
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

fn page(reference: &str, shown: &Image, all: &[Compared], options: &Options) -> Result<String> {
    let mut images = Vec::new();
    for compared in all {
        let image = compared.shown.as_ref().unwrap_or(shown);
        images.push(json!({
            "name": compared.file,
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
            escaped(&compared.file)
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
    let mut options = WriteOptions::default();
    options.bits = Some(Bits::Eight);
    options.transfer = Some(Transfer::Encoded);
    let folder = tempfile::tempdir().context("a folder for pictures")?;
    let path = folder.path().join("picture.png");
    io::write(&path, &Frame::new(image.clone())?, None, &options)?;
    let bytes = std::fs::read(&path).context("a picture of the page")?;
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
    fn what_is_filled_in_is_not_filled_again() {
        let fill = [("{{a}}", "{{b}}".to_owned()), ("{{b}}", "x".to_owned())];
        assert_eq!(filled("1{{a}}2{{b}}3", &fill), "1{{b}}2x3");
    }

    #[test]
    fn names_cannot_break_the_page() {
        let image = Image::new(3, 2, 3);
        let options = Options::new(Space::Display);
        let comparison = limpid::metric::compare(&image, &image, &options).unwrap();
        let all = [Compared {
            file: "</script><b>\".png".to_owned(),
            comparison,
            shown: None,
        }];
        let text = page("<u>", &image, &all, &options).unwrap();
        assert_eq!(text.matches("</script>").count(), 1);
        assert!(!text.contains("<b>") && !text.contains("<u>"));
        assert!(!text.contains("{{"));
    }
}
