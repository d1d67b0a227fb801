//! Films side by side: a page that plays them in sync under a slider.

use crate::video;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// How much of each film the page holds.
const SECONDS: u32 = 20;

/// Writes the page. Films are stored in it, encoded for browsers.
pub(super) fn write(films: &[PathBuf], page: &Path) -> Result<()> {
    let mut items = String::new();
    for film in films {
        let name = film.display().to_string();
        let (kind, data) = video::preview(film, SECONDS)?;
        let data = base64(&data);
        items += &format!(
            "<figure><video muted loop playsinline preload=\"auto\" src=\"data:{kind};base64,{data}\"></video>\
             <figcaption>{}</figcaption></figure>\n",
            escaped(&name)
        );
    }
    let text = include_str!("films.html").replace("<!-- films -->", &items);
    limpid::io::write_whole(page, text.as_bytes())?;
    Ok(())
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i)) as usize & 63];
            let empty = i > group.len();
            text.push(if empty { '=' } else { char::from(digit) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_the_standard() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
