//! NumPy's files: an array of height × width, or × channels, of floats.

use anyhow::{Context, Result};
use limpid::{Error, Image, io};
use std::path::Path;

/// The first bytes, and the version that NumPy writes unless a header is very long.
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// Whether a path is that of such a file.
pub(super) fn is_npy(path: &Path) -> bool {
    let extension = path.extension();
    extension.is_some_and(|e| e.eq_ignore_ascii_case("npy"))
}

/// Writes an image as `float32`, completely or not at all.
pub(super) fn write(path: &Path, image: &Image) -> Result<()> {
    let (width, height, channels) = (image.width(), image.height(), image.channels());
    let shape = match channels {
        1 => format!("({height}, {width})"),
        _ => format!("({height}, {width}, {channels})"),
    };
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    // The numbers begin at a multiple of 64 bytes, after a line feed.
    while !(MAGIC.len() + 2 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).context("the header is too long")?;
    let mut bytes = [MAGIC, &length.to_le_bytes(), header.as_bytes()].concat();
    let room = bytes.try_reserve_exact(4 * image.data().len());
    room.context("there is not enough memory for the file")?;
    for y in 0..height {
        for x in 0..width {
            for c in 0..channels {
                bytes.extend(image.get(x, y, c).to_le_bytes());
            }
        }
    }
    Ok(io::write_whole(path, &bytes)?)
}

/// Reads an array of `float32` or `float64` in the order of C.
pub(super) fn read(path: &Path) -> Result<Image> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    let wrong = |what: &str| Error::input(format!("{}: {what}", path.display()));
    let array = parse(&bytes).ok_or_else(|| {
        wrong("expected an array of float32 or float64 with two axes, or three with channels last, as numpy.save writes it")
    })?;
    Ok(array.map_err(|_| wrong("the file ends before its numbers do"))?)
}

/// None for what is no such array, an error where numbers are missing.
fn parse(bytes: &[u8]) -> Option<limpid::Result<Image>> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk()?;
    let (header, numbers) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    let header = std::str::from_utf8(header).ok()?;
    let value = |key: &str| Some(header.split_once(key)?.1.trim_start());
    let wide = match value("'descr':")? {
        kind if kind.starts_with("'<f4'") => false,
        kind if kind.starts_with("'<f8'") => true,
        _ => return None,
    };
    if !value("'fortran_order':")?.starts_with("False") {
        return None;
    }
    let shape = value("'shape':")?.strip_prefix('(')?.split(')').next()?;
    let sides = shape.split(',').map(str::trim).filter(|s| !s.is_empty());
    let sides: Vec<usize> = sides.map(|s| s.parse().ok()).collect::<Option<_>>()?;
    let (height, width, channels) = match sides[..] {
        [height, width] => (height, width, 1),
        [height, width, channels] => (height, width, channels),
        _ => return None,
    };
    let count = height.checked_mul(width)?.checked_mul(channels)?;
    if count == 0 {
        return None;
    }
    let size = if wide { 8 } else { 4 };
    let Some(numbers) = count.checked_mul(size).and_then(|n| numbers.get(..n)) else {
        return Some(Err(Error::input("numbers are missing")));
    };
    let number = |at: usize| -> f32 {
        let at = &numbers[size * at..size * (at + 1)];
        match at {
            [a, b, c, d] => f32::from_le_bytes([*a, *b, *c, *d]),
            eight => f64::from_le_bytes(eight.try_into().unwrap_or_default()) as f32,
        }
    };
    Some(Ok(Image::from_fn(width, height, channels, |x, y, c| {
        number((y * width + x) * channels + c)
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        for channels in [1, 3] {
            let image = Image::from_fn(5, 3, channels, |x, y, c| (x * 100 + y * 10 + c) as f32);
            write(&path, &image).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!((bytes.len() - 5 * 3 * channels * 4) % 64, 0);
            assert_eq!(read(&path).unwrap(), image);
            // Cut off, and no array at all.
            std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
            assert!(read(&path).unwrap_err().to_string().contains("ends before"));
        }
        std::fs::write(&path, b"picture").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("float32"));
    }
}
