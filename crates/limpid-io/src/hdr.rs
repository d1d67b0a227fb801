//! Radiance HDR: three colours that share an exponent (RGBE), run-length encoded. Header lines are preserved.

use super::codec::{self, Codec, Content, Holds};
use super::raster::{Raster, Transfer, check_size};
use limpid_core::{Error, Image, Result, memory};
use std::borrow::Cow;
use std::path::Path;

/// Radiance HDR in the table of formats.
pub(super) const CODEC: Codec = Codec {
    name: "Radiance HDR",
    extensions: &["hdr", "pic", "rgbe"],
    begins: |bytes| bytes.starts_with(b"#?"),
    transfer: Transfer::Linear,
    holds: Holds::Color,
    read: |bytes, path, options| Content::of(read(&bytes, path, options.limit)?),
    inspect: None,
    write: |page| page.file(Transfer::Linear, write),
};

/// The data of an HDR file that is preserved besides its pixels.
#[derive(Debug, Clone)]
struct HdrExtras {
    /// The lines of the header, without the format.
    lines: Vec<String>,
}

impl codec::Extras for HdrExtras {
    fn transfer(&self) -> Transfer {
        Transfer::Linear
    }

    fn sample(&self) -> &'static str {
        "8 bit and exponent"
    }

    fn compression(&self) -> String {
        "run lengths".to_owned()
    }

    /// The lines after the first.
    fn names(&self) -> Vec<String> {
        self.lines.iter().skip(1).cloned().collect()
    }
}

/// Widths that the newer run-length encoding supports.
const CODED_WIDTHS: std::ops::Range<usize> = 8..32768;

fn read(
    bytes: &[u8],
    path: &Path,
    limit: u64,
) -> Result<(Raster<'static>, HdrExtras, Vec<String>)> {
    let damaged =
        |what: &str| Error::damaged(format!("{}: corrupt HDR file: {what}", path.display()));
    let mut rest = bytes;
    let mut line = || -> Option<String> {
        let end = rest.iter().position(|b| *b == b'\n')?;
        let line = rest[..end].iter().map(|b| char::from(*b)).collect();
        rest = &rest[end + 1..];
        Some(line)
    };
    let mut lines = Vec::new();
    loop {
        let line = line().ok_or_else(|| damaged("the file ends in its header"))?;
        match line.trim_end() {
            "" => break,
            text if text.eq_ignore_ascii_case("FORMAT=32-bit_rle_xyze") => {
                return Err(Error::unsupported(format!(
                    "{}: HDR files in CIE XYZ are not supported; convert it to RGB",
                    path.display()
                )));
            }
            text if text.to_ascii_uppercase().starts_with("FORMAT=") => {}
            text => lines.push(text.to_owned()),
        }
    }
    let resolution = line().ok_or_else(|| damaged("it has no size"))?;
    let words: Vec<&str> = resolution.split_whitespace().collect();
    let (flip, height, width) = match words[..] {
        ["-Y", height, "+X", width] => (false, height, width),
        ["+Y", height, "+X", width] => (true, height, width),
        _ => {
            return Err(Error::unsupported(format!(
                "{}: the pixel order '{resolution}' is not supported, only -Y HEIGHT +X WIDTH",
                path.display()
            )));
        }
    };
    let number = |text: &str| {
        text.parse()
            .map_err(|_| damaged("its size is not a number"))
    };
    let size = check_size((number(width)?, number(height)?, 3), limit, path)?;
    // The shortest code is two bytes for a run of 127 of one of four components; the older encoding has unlimited repeats.
    if size.pixels() / (1 << 16) > rest.len() {
        return Err(damaged("it is too small for its size"));
    }
    let mut color = Image::try_new(size.width, size.height, 3)?;
    let mut row = vec![[0_u8; 4]; size.width];
    for y in 0..size.height {
        scan_line(&mut rest, &mut row).ok_or_else(|| {
            Error::damaged(format!(
                "{}: the HDR file is truncated or corrupt in row {y} of {}",
                path.display(),
                size.height
            ))
        })?;
        let target = if flip { size.height - 1 - y } else { y };
        for (x, pixel) in row.iter().enumerate() {
            let rgb = to_float(*pixel);
            (0..3).for_each(|c| color.set(x, target, c, rgb[c]));
        }
    }
    let raster = Raster {
        color: Cow::Owned(color),
        alpha: None,
    };
    Ok((raster, HdrExtras { lines }, Vec::new()))
}

/// Reads one row in any of the three encodings.
fn scan_line(rest: &mut &[u8], row: &mut [[u8; 4]]) -> Option<()> {
    let start: [u8; 4] = rest.get(..4)?.try_into().ok()?;
    let coded = start[0] == 2
        && start[1] == 2
        && usize::from(start[2]) << 8 | usize::from(start[3]) == row.len();
    if !coded || !CODED_WIDTHS.contains(&row.len()) {
        return old_line(rest, row);
    }
    *rest = &rest[4..];
    for component in 0..4 {
        let mut x = 0;
        while x < row.len() {
            let (&count, after) = rest.split_first()?;
            let run = count > 128;
            let count = usize::from(if run { count - 128 } else { count });
            if count == 0 || x + count > row.len() {
                return None;
            }
            let used = if run { 1 } else { count };
            let values = after.get(..used)?;
            for i in 0..count {
                row[x + i][component] = values[if run { 0 } else { i }];
            }
            *rest = &after[used..];
            x += count;
        }
    }
    Some(())
}

/// Plain pixels, where `1 1 1 N` repeats the last one.
fn old_line(rest: &mut &[u8], row: &mut [[u8; 4]]) -> Option<()> {
    let mut x = 0;
    let mut shift = 0_u32;
    while x < row.len() {
        let pixel: [u8; 4] = rest.get(..4)?.try_into().ok()?;
        *rest = &rest[4..];
        if pixel[..3] == [1, 1, 1] {
            let count = usize::from(pixel[3]).checked_shl(shift)?;
            let last = *row.get(x.checked_sub(1)?)?;
            let end = x.checked_add(count).filter(|end| *end <= row.len())?;
            row[x..end].fill(last);
            x = end;
            shift += 8;
            if shift > 24 {
                return None;
            }
        } else {
            row[x] = pixel;
            x += 1;
            shift = 0;
        }
    }
    Some(())
}

fn to_float([r, g, b, e]: [u8; 4]) -> [f32; 3] {
    if e == 0 {
        return [0.0; 3];
    }
    // In double precision: the smallest exponent is below the range of single precision.
    let scale = 2.0_f64.powi(i32::from(e) - 136);
    [r, g, b].map(|m| (f64::from(m) * scale) as f32)
}

/// The nearest pixel that the format can represent. Negative and NaN values become 0, infinite ones the maximum.
fn from_float(rgb: [f32; 3]) -> [u8; 4] {
    let rgb = rgb.map(|v| {
        if v.is_nan() {
            0.0
        } else {
            f64::from(v.clamp(0.0, f32::MAX))
        }
    });
    let largest = rgb[0].max(rgb[1]).max(rgb[2]);
    if largest < 1e-38 {
        return [0; 4];
    }
    let mut exponent = largest.log2().floor() as i32 + 1;
    let scaled = |exponent: i32| rgb.map(|v| (v * 2.0_f64.powi(8 - exponent)).round());
    let mut mantissa = scaled(exponent);
    if mantissa.iter().any(|m| *m > 255.0) {
        exponent += 1;
        mantissa = scaled(exponent);
    }
    let exponent = exponent + 128;
    if exponent > 255 {
        return [255; 4];
    }
    if exponent < 1 {
        return [0; 4];
    }
    let [r, g, b] = mantissa.map(|m| m as u8);
    [r, g, b, exponent as u8]
}

/// Grey is written as colour and alpha is dropped: the format has neither.
fn write(raster: &Raster<'_>, kept: Option<&HdrExtras>) -> Result<Vec<u8>> {
    let size = raster.size();
    let mut file = Vec::new();
    // Noise does not compress; a run takes at most one byte more than its values.
    memory::reserve(&mut file, 5 * size.pixels() + 4096)?;
    match kept {
        Some(kept) => kept.lines.iter().for_each(|line| {
            file.extend(line.chars().map(|c| c as u8));
            file.push(b'\n');
        }),
        None => file.extend(b"#?RADIANCE\nSOFTWARE=limpid\n"),
    }
    file.extend(b"FORMAT=32-bit_rle_rgbe\n\n");
    file.extend(format!("-Y {} +X {}\n", size.height, size.width).bytes());
    let last = raster.color.channels() - 1;
    for y in 0..size.height {
        let row: Vec<[u8; 4]> = (0..size.width)
            .map(|x| from_float([0, 1, 2].map(|c: usize| raster.color.get(x, y, c.min(last)))))
            .collect();
        if CODED_WIDTHS.contains(&size.width) {
            file.extend([2, 2, (size.width >> 8) as u8, size.width as u8]);
            for component in 0..4 {
                let values: Vec<u8> = row.iter().map(|p| p[component]).collect();
                runs(&values, &mut file);
            }
        } else {
            file.extend(row.iter().flatten());
        }
    }
    Ok(file)
}

/// Encodes one component: runs of at least four equal values, and the values between them.
fn runs(values: &[u8], file: &mut Vec<u8>) {
    let mut rest = values;
    while !rest.is_empty() {
        let run = |at: usize| {
            let same = rest[at..].iter().take(127);
            same.take_while(|v| **v == rest[at]).count()
        };
        let plain = (0..rest.len().min(128))
            .find(|at| run(*at) >= 4)
            .unwrap_or(rest.len().min(128));
        if plain > 0 {
            file.push(plain as u8);
            file.extend(&rest[..plain]);
            rest = &rest[plain..];
        } else {
            let count = run(0);
            file.extend([128 + count as u8, rest[0]]);
            rest = &rest[count..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pixel_value_comes_back() {
        for e in 1..=255 {
            for m in [128, 129, 200, 255] {
                let pixel = [m, 0, m / 3, e];
                let float = to_float(pixel);
                if float[0].is_normal() {
                    assert_eq!(from_float(float), pixel);
                }
            }
        }
        assert_eq!(from_float([f32::NAN, -1.0, 0.0]), [0; 4]);
        assert_eq!(from_float([f32::INFINITY; 3])[3], 255);
    }
}
