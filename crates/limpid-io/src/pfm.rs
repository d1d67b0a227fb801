//! Portable float map: one or three channels of `f32`, rows from bottom to top, either byte order.

use super::codec::{self, Codec, Content, Holds};
use super::raster::{Raster, Transfer, check_size};
use limpid_core::{Error, Result, memory};
use std::path::Path;

/// Portable float map in the table of formats.
pub(super) const CODEC: Codec = Codec {
    name: "PFM",
    extensions: &["pfm"],
    begins: |bytes| {
        let marked = bytes.starts_with(b"PF") || bytes.starts_with(b"Pf");
        marked && bytes.get(2).is_some_and(u8::is_ascii_whitespace)
    },
    transfer: Transfer::Linear,
    holds: Holds::Color,
    read: |bytes, path, options| Content::of(read(&bytes, path, options.limit)?),
    inspect: None,
    write: |page| page.file(Transfer::Linear, write),
};

/// The data of a PFM file that is preserved besides its pixels.
#[derive(Debug, Clone)]
struct PfmExtras {
    big_endian: bool,
    /// The scale in the header. Pixels are not multiplied by it.
    scale: String,
}

impl codec::Extras for PfmExtras {
    fn transfer(&self) -> Transfer {
        Transfer::Linear
    }

    fn sample(&self) -> &'static str {
        "float"
    }

    fn compression(&self) -> String {
        let big = self.big_endian;
        if big { "big-endian" } else { "little-endian" }.to_owned()
    }
}

fn read(
    bytes: &[u8],
    path: &Path,
    limit: u64,
) -> Result<(Raster<'static>, PfmExtras, Vec<String>)> {
    let damaged =
        |what: &str| Error::damaged(format!("{}: corrupt PFM file: {what}", path.display()));
    let mut rest = bytes;
    let mut word = || -> Option<&str> {
        let start = rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let length = rest[start..].iter().position(u8::is_ascii_whitespace)?;
        let word = std::str::from_utf8(&rest[start..start + length]).ok();
        // One white space ends the header; pixels follow.
        rest = &rest[start + length + 1..];
        word
    };
    let channels = match word() {
        Some("PF") => 3,
        Some("Pf") => 1,
        _ => return Err(damaged("it does not begin with PF or Pf")),
    };
    let (width, height, scale) = match (word(), word(), word()) {
        (Some(w), Some(h), Some(s)) => (w, h, s),
        _ => return Err(damaged("the file ends in its header")),
    };
    let number = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| damaged(&format!("'{text}' is not a width or height")))
    };
    let size = check_size((number(width)?, number(height)?, channels), limit, path)?;
    let big_endian = match scale.parse::<f32>() {
        Ok(scale) if scale != 0.0 && scale.is_finite() => scale > 0.0,
        _ => return Err(damaged(&format!("'{scale}' is not a scale"))),
    };
    let scale = scale.trim_start_matches(['-', '+']).to_owned();
    let channels = channels as usize;
    let values = size.pixels() * channels;
    let (words, _) = rest.as_chunks::<4>();
    if words.len() < values {
        return Err(Error::damaged(format!(
            "{}: the PFM file is truncated: it has {} of {values} values",
            path.display(),
            words.len()
        )));
    }
    let decode = if big_endian {
        f32::from_be_bytes
    } else {
        f32::from_le_bytes
    };
    let row = size.width * channels;
    let rows = words[..values].chunks_exact(row).rev().flatten();
    let samples = memory::collected(values, rows.map(|w| decode(*w)))?;
    let raster = Raster::from_interleaved(size, channels, &samples)?;
    Ok((raster, PfmExtras { big_endian, scale }, Vec::new()))
}

/// Alpha is dropped, because the format has none.
fn write(raster: &Raster<'_>, kept: Option<&PfmExtras>) -> Result<Vec<u8>> {
    let size = raster.size();
    let channels = raster.color.channels();
    let big_endian = kept.is_some_and(|k| k.big_endian);
    let scale = kept.map_or("1.0", |k| k.scale.as_str());
    let sign = if big_endian { "" } else { "-" };
    let kind = if channels == 3 { "PF" } else { "Pf" };
    let mut file = format!("{kind}\n{} {}\n{sign}{scale}\n", size.width, size.height).into_bytes();
    let encode = if big_endian {
        f32::to_be_bytes
    } else {
        f32::to_le_bytes
    };
    let samples = raster.color.to_interleaved();
    memory::reserve(&mut file, size_of_val(&samples[..]))?;
    for row in samples.chunks_exact(size.width * channels).rev() {
        file.extend(row.iter().flat_map(|v| encode(*v)));
    }
    Ok(file)
}
