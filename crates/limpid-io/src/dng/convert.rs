//! A DNG file of what another raw file holds: the values of a sensor, uncompressed, with all that is known about them.

use super::Pattern;
use super::color::plain;
use super::kept::Kept;
use super::sensor::{Area, corrupt};
use super::tree::{Pen, tag};
use super::write::{DirectoryEntry, LONG, RATIONAL, SHORT, SIGNED, entry, listed};
use limpid_core::{Error, Result, memory};
use std::path::Path;

/// Types of entries.
const BYTE: u16 = 1;
const ASCII: u16 = 2;

/// Values of a sensor, and what they mean.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Samples per pixel: 1 for a mosaic, 3 without one.
    pub(crate) samples: usize,
    pub(crate) values: Vec<u16>,
    /// The colours of the active area.
    pub(crate) pattern: Option<Pattern>,
    /// The area with light: left, top, width and height.
    pub(crate) active: [usize; 4],
    /// The part of the active area that is shown, relative to it.
    pub(crate) shown: [usize; 4],
    /// Rows and columns of the pattern of black levels in the active area, and the levels.
    pub(crate) black: ([usize; 2], Vec<f64>),
    /// The level of white for each sample of a pixel.
    pub(crate) white: Vec<f64>,
    /// What grey light becomes in the values; `None` if the file does not say.
    pub(crate) neutral: Option<[f64; 3]>,
    /// Factors by which the camera has multiplied the values.
    pub(crate) balance: Option<[f64; 3]>,
    /// Illuminants, and the matrices from XYZ to the camera.
    pub(crate) matrices: Vec<(u16, [f64; 9])>,
    pub(crate) orientation: u16,
    /// Maker and model as the file writes them, and the name of the camera.
    pub(crate) camera: [String; 3],
    /// EXIF data and others.
    pub(crate) kept: Kept,
    /// The place and length of a JPEG file in the source, its width and height.
    pub(crate) preview: Option<[usize; 4]>,
}

/// Numbers with a fixed denominator.
fn fractions(pen: Pen, values: &[f64], per: u32) -> Vec<u8> {
    let pair = |v: &f64| {
        let top = (v * f64::from(per)).round() as i32;
        [pen.long(top as u32), pen.long(per)].concat()
    };
    values.iter().flat_map(pair).collect()
}

fn text(tag: u16, text: &str) -> DirectoryEntry {
    let plain = text.chars().filter(char::is_ascii).map(|c| c as u8);
    let bytes: Vec<u8> = plain.filter(|b| *b != 0).chain([0]).collect();
    (tag, ASCII, bytes.len() as u32, bytes)
}

/// The file.
pub(crate) fn converted(from: &Captured, source: &[u8], path: &Path) -> Result<Vec<u8>> {
    let total = from.width * from.height * from.samples;
    if from.values.len() != total {
        return Err(corrupt(path, "samples are missing"));
    }
    let pen = Pen {
        little: from.kept.little,
    };
    let mut out = match pen.little {
        true => b"II*\0\0\0\0\0".to_vec(),
        false => b"MM\0*\0\0\0\0".to_vec(),
    };
    let preview = from.preview.and_then(|[at, length, width, height]| {
        let jpeg = source.get(at..at.checked_add(length)?)?;
        out.extend_from_slice(jpeg);
        Some([8, length, width, height])
    });
    let exif = directory(&mut out, pen, from.kept.exif.clone());
    let gps = directory(&mut out, pen, from.kept.gps.clone());
    // The pixels come last, so that others take less room without leaving a gap.
    let picture = picture(pen, from);
    let mut first = camera(pen, from);
    let long = |tag, value: usize| (tag, LONG, 1, pen.long(value as u32).to_vec());
    for (tag, place) in [(tag::EXIF, exif), (tag::GPS, gps)] {
        first.extend(place.map(|at| long(tag, at)));
    }
    let at = match preview {
        Some(found) => {
            let inner = directory(&mut out, pen, picture).unwrap_or_default();
            first.extend(shown_first(pen, found));
            first.push(long(tag::CHILDREN, inner));
            let at = directory(&mut out, pen, first).unwrap_or_default();
            out[4..8].copy_from_slice(&pen.long(at as u32));
            inner
        }
        None => {
            first.extend(picture);
            let at = directory(&mut out, pen, first).unwrap_or_default();
            out[4..8].copy_from_slice(&pen.long(at as u32));
            at
        }
    };
    out.resize(out.len().next_multiple_of(2), 0);
    place_pixels(&mut out, pen, at);
    memory::reserve(&mut out, 2 * total)?;
    out.extend(from.values.iter().flat_map(|v| pen.short(*v)));
    match u32::try_from(out.len()) {
        Ok(_) => Ok(out),
        Err(_) => Err(Error::too_large(format!(
            "{}: a picture of more than 4 GiB",
            path.display()
        ))),
    }
}

/// Sets the place of the only strip of a directory to the end of the file.
fn place_pixels(out: &mut [u8], pen: Pen, directory: usize) {
    let end = pen.long(out.len() as u32);
    let wanted = pen.short(tag::STRIPS);
    let mut at = directory + 2;
    while at + 12 <= out.len() {
        if out[at..at + 2] == wanted {
            out[at + 8..at + 12].copy_from_slice(&end);
            return;
        }
        at += 12;
    }
}

/// Appends a directory; `None` if it is empty.
fn directory(out: &mut Vec<u8>, pen: Pen, items: Vec<DirectoryEntry>) -> Option<usize> {
    if items.is_empty() {
        return None;
    }
    let mut entries: Vec<(u16, Vec<u8>)> = Vec::new();
    for item in items {
        if entries.iter().all(|e| e.0 != item.0) {
            entries.push((item.0, entry(out, pen, item)));
        }
    }
    out.resize(out.len().next_multiple_of(2), 0);
    let at = out.len();
    out.extend(listed(pen, entries, &[0; 4]));
    Some(at)
}

/// The entries of the picture of the sensor.
fn picture(pen: Pen, from: &Captured) -> Vec<DirectoryEntry> {
    let short = |tag, value: usize| (tag, SHORT, 1, pen.short(value as u16).to_vec());
    let longs = |tag, values: &[usize]| -> DirectoryEntry {
        let bytes = values.iter().flat_map(|v| pen.long(*v as u32)).collect();
        (tag, LONG, values.len() as u32, bytes)
    };
    let bytes = 2 * from.width * from.height * from.samples;
    let [left, top, width, height] = from.active;
    let [x, y, shown_width, shown_height] = from.shown;
    let mut items = vec![
        longs(tag::KIND, &[0]),
        longs(tag::WIDTH, &[from.width]),
        longs(tag::HEIGHT, &[from.height]),
        (
            tag::BITS,
            SHORT,
            from.samples as u32,
            pen.short(16).repeat(from.samples),
        ),
        short(tag::COMPRESSION, 1),
        longs(tag::STRIPS, &[0]),
        short(tag::SAMPLES, from.samples),
        longs(tag::STRIP_ROWS, &[from.height]),
        longs(tag::STRIP_LENGTHS, &[bytes]),
        short(tag::PLANAR, 1),
        longs(tag::ACTIVE, &[top, left, top + height, left + width]),
        longs(tag::CROP_ORIGIN, &[x, y]),
        longs(tag::CROP_SIZE, &[shown_width, shown_height]),
        (
            tag::WHITE,
            LONG,
            from.samples as u32,
            (0..from.samples)
                .map(|c| from.white.get(c).or(from.white.first()).copied())
                .flat_map(|v| pen.long(v.unwrap_or(65535.0).round() as u32))
                .collect(),
        ),
    ];
    let ([rows, columns], levels) = &from.black;
    if !levels.is_empty() {
        items.push((
            tag::BLACK_SIZE,
            SHORT,
            2,
            [pen.short(*rows as u16), pen.short(*columns as u16)].concat(),
        ));
        let levels: Vec<f64> = levels.iter().map(|v| v.clamp(0.0, 65535.0)).collect();
        let count = levels.len() as u32;
        items.push((tag::BLACK, RATIONAL, count, fractions(pen, &levels, 1000)));
    }
    match &from.pattern {
        Some(pattern) => {
            let (wide, high) = pattern.size();
            let colors = (0..wide * high).map(|i| pattern.color(i % wide, i / wide) as u8);
            let colors: Vec<u8> = colors.collect();
            let size = [pen.short(high as u16), pen.short(wide as u16)].concat();
            items.extend([
                short(tag::PHOTOMETRIC, 32803),
                (tag::CFA_SIZE, SHORT, 2, size),
                (tag::CFA_PATTERN, BYTE, colors.len() as u32, colors),
                (tag::PLANE_COLOR, BYTE, 3, vec![0, 1, 2]),
                short(tag::LAYOUT, 1),
            ]);
        }
        None => items.push(short(tag::PHOTOMETRIC, 34892)),
    }
    items
}

/// The entries about the camera and the colours, for the first directory. What the source says otherwise does not count.
fn camera(pen: Pen, from: &Captured) -> Vec<DirectoryEntry> {
    let [make, model, unique] = &from.camera;
    let short = |tag, value: u16| (tag, SHORT, 1, pen.short(value).to_vec());
    let mut items = vec![
        text(tag::MAKE, make),
        text(tag::MODEL, model),
        text(tag::CAMERA, unique),
        short(tag::ORIENTATION, from.orientation),
        (tag::VERSION, BYTE, 4, vec![1, 4, 0, 0]),
        (tag::BACKWARD_VERSION, BYTE, 4, vec![1, 1, 0, 0]),
    ];
    let unknown = [(21, plain())];
    let matrices = match from.matrices.len() {
        0 => &unknown[..],
        _ => &from.matrices,
    };
    for (i, (illuminant, matrix)) in matrices.iter().take(2).enumerate() {
        let values = fractions(pen, matrix, 1_000_000);
        items.push((tag::MATRICES[i], SIGNED, 9, values));
        items.push(short(tag::ILLUMINANTS[i], *illuminant));
    }
    if let Some(neutral) = &from.neutral {
        let values = fractions(pen, neutral, 1_000_000);
        items.push((tag::NEUTRAL, RATIONAL, 3, values));
    }
    if let Some(balance) = &from.balance {
        let values = fractions(pen, balance, 1_000_000);
        items.push((tag::BALANCE, RATIONAL, 3, values));
    }
    items.extend(from.kept.first.iter().cloned());
    items
}

/// The entries of a preview, which is the first picture of the file.
fn shown_first(pen: Pen, [at, length, width, height]: [usize; 4]) -> Vec<DirectoryEntry> {
    let short = |tag, value: u16| (tag, SHORT, 1, pen.short(value).to_vec());
    let long = |tag, value: usize| (tag, LONG, 1, pen.long(value as u32).to_vec());
    vec![
        long(tag::KIND, 1),
        long(tag::WIDTH, width),
        long(tag::HEIGHT, height),
        (tag::BITS, SHORT, 3, pen.short(8).repeat(3)),
        short(tag::COMPRESSION, 7),
        short(tag::PHOTOMETRIC, 6),
        long(tag::STRIPS, at),
        short(tag::SAMPLES, 3),
        long(tag::STRIP_ROWS, height),
        long(tag::STRIP_LENGTHS, length),
        short(tag::PLANAR, 1),
    ]
}

impl Captured {
    /// Whether the areas lie inside the picture, and each inside the other.
    pub(crate) fn fits(&self) -> bool {
        let area = |[x, y, width, height]: [usize; 4]| Area {
            x,
            y,
            width,
            height,
        };
        let inside = |a: Area, width: usize, height: usize| {
            a.width > 0
                && a.height > 0
                && a.x.checked_add(a.width).is_some_and(|v| v <= width)
                && a.y.checked_add(a.height).is_some_and(|v| v <= height)
        };
        let (active, shown) = (area(self.active), area(self.shown));
        inside(active, self.width, self.height) && inside(shown, active.width, active.height)
    }
}
