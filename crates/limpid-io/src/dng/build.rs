//! A new DNG file: a linear picture with the colours of sRGB.

use super::color::plain;
use super::tree::{Pen, tag};
use super::write::{DirectoryEntry, LONG, RATIONAL, SHORT, SIGNED, entry, layout, listed, tiles};
use limpid_core::{Error, Image, Result, memory};
use std::path::Path;

/// Types of entries.
const BYTE: u16 = 1;
const ASCII: u16 = 2;

/// A file with the light of an image, black 0 and white 1.
pub(super) fn linear(image: &Image, path: &Path) -> Result<Vec<u8>> {
    let (width, height) = (image.width(), image.height());
    let mut values = memory::zeroed::<u16>(3 * width * height)?;
    for y in 0..height {
        for x in 0..width {
            for c in 0..3 {
                let v = image.row(c.min(image.channels() - 1), y)[x];
                values[3 * (y * width + x) + c] = (v.clamp(0.0, 1.0) * 65535.0).round() as u16;
            }
        }
    }
    let pen = Pen { little: true };
    let mut out = b"II*\0\0\0\0\0".to_vec();
    let mut places = Vec::new();
    for tile in tiles(&values, (width, height), 3) {
        out.resize(out.len().next_multiple_of(2), 0);
        places.push((out.len(), tile.len()));
        out.extend(tile);
    }
    let short = |tag, value: u16| -> DirectoryEntry { (tag, SHORT, 1, pen.short(value).to_vec()) };
    let matrix = plain().into_iter().flat_map(|v| {
        [
            pen.long((v * 1e6).round() as i32 as u32),
            pen.long(1_000_000),
        ]
    });
    let ones = [pen.long(1); 6].concat();
    let name = b"Limpid linear\0".to_vec();
    let mut items = layout(pen, &places, (width, height), 3);
    items.extend([
        (tag::KIND, LONG, 1, vec![0; 4]),
        short(tag::PHOTOMETRIC, 34892),
        short(tag::ORIENTATION, 1),
        short(tag::SAMPLES, 3),
        short(tag::PLANAR, 1),
        (tag::VERSION, BYTE, 4, vec![1, 4, 0, 0]),
        (tag::BACKWARD_VERSION, BYTE, 4, vec![1, 1, 0, 0]),
        (tag::CAMERA, ASCII, name.len() as u32, name),
        (tag::WHITE, LONG, 3, [pen.long(65535); 3].concat()),
        (tag::MATRICES[0], SIGNED, 9, matrix.flatten().collect()),
        (tag::NEUTRAL, RATIONAL, 3, ones),
        short(tag::ILLUMINANTS[0], 21),
    ]);
    let mut entries = Vec::new();
    for item in items {
        entries.push((item.0, entry(&mut out, pen, item)));
    }
    out.resize(out.len().next_multiple_of(2), 0);
    let at = out.len();
    out.extend(listed(pen, entries, &[0; 4]));
    match u32::try_from(out.len()) {
        Ok(_) => {
            out[4..8].copy_from_slice(&pen.long(at as u32));
            Ok(out)
        }
        Err(_) => Err(Error::unsupported(format!(
            "{}: more than 4 GiB do not fit into a DNG file",
            path.display()
        ))),
    }
}
