//! The picture of a raw file: which directory holds it, its samples, levels and colours.

use super::super::raster::{check_memory, check_size};
use super::tree::{Directory, Pen, Tree, tag};
use super::write::{DirectoryEntry, LONG, RATIONAL, SIGNED};
use super::{Pattern, ljpeg};
use limpid_core::{Error, Image, Result, memory};
use rayon::prelude::*;
use std::path::Path;

/// Values of `PhotometricInterpretation`.
const CFA: usize = 32803;
const LINEAR: usize = 34892;

/// The value of `Compression` for VC-5 wavelets, which GoPro cameras write.
const VC5: usize = 9;

/// The largest side of the pattern of a mosaic, and of that of black levels.
const REPEATS: usize = 8;

/// An area of the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// What was found in the directory of the picture.
#[derive(Debug, Clone)]
pub(super) struct Sensor {
    pub(super) directory: Directory,
    pub(super) width: usize,
    pub(super) height: usize,
    /// Samples per pixel: 1, or 3 if there is no mosaic.
    pub(super) samples: usize,
    pub(super) pattern: Option<Pattern>,
    /// The area with light.
    pub(super) active: Area,
    /// The part of the active area that is shown.
    pub(super) shown: Area,
    /// Black levels: a pattern for each sample, and what is added in each column and row of the active area.
    black_size: [usize; 2],
    black: Vec<f32>,
    across: Vec<f32>,
    down: Vec<f32>,
    /// White levels for each sample.
    white: Vec<f32>,
}

/// The error for a corrupt file.
pub(super) fn corrupt(path: &Path, what: &str) -> Error {
    Error::input(format!("{}: corrupt DNG file: {what}", path.display()))
}

fn unsupported(path: &Path, what: &str) -> Error {
    Error::unsupported(format!(
        "{}: a DNG file with {what}, which is not supported",
        path.display()
    ))
}

impl Sensor {
    /// Finds the picture: the largest one that is not a preview.
    pub(super) fn find(
        tree: &Tree<'_>,
        all: &[Directory],
        limit: u64,
        path: &Path,
    ) -> Result<Self> {
        let area = |d: &&Directory| {
            let side = |tag| tree.count(d, tag).unwrap_or(0) as u64;
            side(tag::WIDTH) * side(tag::HEIGHT)
        };
        let raw = |d: &&Directory| {
            let kind = tree.count(d, tag::PHOTOMETRIC);
            matches!(kind, Some(CFA | LINEAR)) && tree.count(d, tag::KIND).unwrap_or(0) & 1 == 0
        };
        let found = all.iter().filter(raw).max_by_key(area);
        let Some(directory) = found.cloned() else {
            return Err(corrupt(path, "it has no picture of a sensor"));
        };
        let d = &directory;
        let count = |tag| tree.count(d, tag);
        let samples = count(tag::SAMPLES).unwrap_or(1);
        let mosaic = count(tag::PHOTOMETRIC) == Some(CFA);
        if samples != if mosaic { 1 } else { 3 } {
            return Err(unsupported(path, &format!("{samples} samples per pixel")));
        }
        let (width, height) = (
            count(tag::WIDTH).unwrap_or(0),
            count(tag::HEIGHT).unwrap_or(0),
        );
        // A developed picture has three channels.
        let size = check_size((width as u64, height as u64, 3), limit, path)?;
        if count(tag::FORMAT).unwrap_or(1) != 1 {
            return Err(unsupported(path, "float samples"));
        }
        if count(tag::PLANAR).unwrap_or(1) != 1 {
            return Err(unsupported(path, "separate planes"));
        }
        let all = Area {
            x: 0,
            y: 0,
            width: size.width,
            height: size.height,
        };
        let active = active(&tree.numbers(d, tag::ACTIVE), all);
        let pattern = match mosaic {
            true => Some(pattern(tree, d).ok_or_else(|| {
                unsupported(path, "a mosaic of other colours than red, green and blue")
            })?),
            false => None,
        };
        let shown = shown(
            &tree.numbers(d, tag::CROP_ORIGIN),
            &tree.numbers(d, tag::CROP_SIZE),
            active,
        );
        let repeats = tree.numbers(d, tag::BLACK_SIZE);
        let repeat = |i: usize| {
            repeats
                .get(i)
                .map_or(1, |v| (*v as usize).clamp(1, REPEATS))
        };
        let black_size = [repeat(0), repeat(1)];
        let single = |v: Vec<f64>| -> Vec<f32> { v.into_iter().map(|v| v as f32).collect() };
        let mut black = single(tree.numbers(d, tag::BLACK));
        let wanted = black_size[0] * black_size[1] * samples;
        if black.len() < wanted {
            let first = black.first().copied().unwrap_or(0.0);
            black.resize(wanted, first);
        }
        let mut white = single(tree.numbers(d, tag::WHITE));
        if white.is_empty() {
            let bits = count(tag::BITS).unwrap_or(16).clamp(1, 16);
            white.push(((1u32 << bits) - 1) as f32);
        }
        white.resize(samples, white[0]);
        Ok(Self {
            width: size.width,
            height: size.height,
            samples,
            pattern,
            active,
            shown,
            black_size,
            black,
            across: single(tree.numbers(d, tag::BLACK_ACROSS)),
            down: single(tree.numbers(d, tag::BLACK_DOWN)),
            white,
            directory,
        })
    }

    /// The levels of black and white of a sample of a pixel of the active area.
    fn levels(&self, x: usize, y: usize, c: usize) -> (f32, f32) {
        let [rows, columns] = self.black_size;
        let at = ((y % rows) * columns + x % columns) * self.samples + c;
        let more = |list: &[f32], at: usize| list.get(at).copied().unwrap_or(0.0);
        let black = more(&self.black, at) + more(&self.across, x) + more(&self.down, y);
        let black = if black.is_finite() { black } else { 0.0 };
        (black, self.white[c].max(black + 1.0))
    }

    /// The active area as light: black is 0, white is 1.
    pub(super) fn light(&self, values: &[u16]) -> Result<Image> {
        let Area {
            x,
            y,
            width,
            height,
        } = self.active;
        let mut out = Image::try_new(width, height, self.samples)?;
        for c in 0..self.samples {
            let rows = out.plane_mut(c).par_chunks_exact_mut(width).enumerate();
            rows.for_each(|(j, row)| {
                let from = ((y + j) * self.width + x) * self.samples + c;
                for (i, to) in row.iter_mut().enumerate() {
                    let (black, white) = self.levels(i, j, c);
                    *to = (f32::from(values[from + i * self.samples]) - black) / (white - black);
                }
            });
        }
        Ok(out)
    }

    /// Puts light back into the samples. Unless all values are whole numbers, as they were, samples and levels are multiplied by a
    /// power of two, so that 16 bits are used: without noise, smooth light has steps. Returns the factor.
    pub(super) fn store(&self, light: &Image, values: &mut [u16]) -> u16 {
        let area = self.active;
        let fraction = |(j, c): (usize, usize)| {
            let row = light.row(c, j).iter().enumerate();
            let values = row.map(|(i, v)| {
                let (black, white) = self.levels(i, j, c);
                let value = v * (white - black) + black;
                (value - value.round()).abs()
            });
            values.fold(0.0f32, f32::max)
        };
        let all = (0..area.height).flat_map(|j| (0..self.samples).map(move |c| (j, c)));
        let all: Vec<(usize, usize)> = all.collect();
        let whole = all.into_par_iter().all(|at| fraction(at) < 0.02);
        let most = values.par_iter().copied().max().unwrap_or(0);
        let most = self.white.iter().fold(f32::from(most), |m, w| m.max(*w));
        let mut factor = 1u16;
        while !whole && most * f32::from(factor) * 2.0 <= 65535.0 {
            factor *= 2;
        }
        values.par_iter_mut().for_each(|v| *v *= factor);
        self.put(light, values, f32::from(factor));
        factor
    }

    /// The entries of levels that are multiplied by a factor.
    pub(super) fn scaled_levels(
        &self,
        tree: &Tree<'_>,
        factor: u16,
        pen: Pen,
    ) -> Vec<DirectoryEntry> {
        let mut items = Vec::new();
        let d = &self.directory;
        for tag in [tag::BLACK, tag::BLACK_ACROSS, tag::BLACK_DOWN] {
            let numbers = tree.numbers(d, tag);
            let pair = |v: &f64| {
                let top = (v * f64::from(factor) * 1000.0).round() as i32;
                [pen.long(top as u32), pen.long(1000)].concat()
            };
            let kind = if tag == tag::BLACK { RATIONAL } else { SIGNED };
            if !numbers.is_empty() {
                let bytes = numbers.iter().flat_map(pair).collect();
                items.push((tag, kind, numbers.len() as u32, bytes));
            }
        }
        let white = self
            .white
            .iter()
            .map(|w| (w * f32::from(factor)).round() as u32);
        let bytes = white.flat_map(|w| pen.long(w)).collect();
        items.push((tag::WHITE, LONG, self.white.len() as u32, bytes));
        items
    }

    fn put(&self, light: &Image, values: &mut [u16], factor: f32) {
        let Area { x, y, height, .. } = self.active;
        let rows = values.par_chunks_exact_mut(self.width * self.samples);
        rows.skip(y).take(height).enumerate().for_each(|(j, row)| {
            for c in 0..self.samples {
                let to = row[x * self.samples + c..].iter_mut().step_by(self.samples);
                for (i, (to, v)) in to.zip(light.row(c, j)).enumerate() {
                    let (black, white) = self.levels(i, j, c);
                    // NaN becomes 0.
                    let value = factor * (v * (white - black) + black);
                    *to = value.round().clamp(0.0, 65535.0) as u16;
                }
            }
        });
    }

    /// The samples of the whole picture, after the table of linear values.
    pub(super) fn values(&self, tree: &Tree<'_>, path: &Path) -> Result<Vec<u16>> {
        let count = |tag| tree.count(&self.directory, tag);
        let bits = count(tag::BITS).unwrap_or(1);
        let compression = count(tag::COMPRESSION).unwrap_or(1);
        let packed = match compression {
            1 => false,
            7 => true,
            VC5 => {
                check_memory(limpid_core::Size::new(self.width, self.height), 3)?;
                let size = [self.width, self.height, self.samples];
                return super::super::camera::samples(tree.bytes, size, path);
            }
            8 | 32946 => return Err(unsupported(path, "deflate compression")),
            34892 => return Err(unsupported(path, "lossy JPEG compression")),
            52546 => return Err(unsupported(path, "JPEG XL compression")),
            other => return Err(unsupported(path, &format!("compression {other}"))),
        };
        if !(8..=16).contains(&bits) {
            return Err(unsupported(path, &format!("{bits} bit samples")));
        }
        let parts = self
            .parts(tree)
            .ok_or_else(|| corrupt(path, "its strips or tiles are missing"))?;
        // Each sample takes a bit at least.
        let total = self.width * self.height * self.samples;
        let held: usize = parts.iter().map(|p| p.data.len()).sum();
        if total / 8 > held {
            let what = format!("{held} bytes cannot hold {total} samples");
            return Err(corrupt(path, &what));
        }
        check_memory(limpid_core::Size::new(self.width, self.height), 3)?;
        let decode = |part: &Part<'_>| -> Option<Vec<u16>> {
            let wanted = part.width * self.samples * part.area.height;
            let values = match packed {
                true => ljpeg::decode(part.data)?.values,
                false => unpacked(
                    part.data,
                    part.width * self.samples,
                    part.area.height,
                    (bits, tree.little),
                )?,
            };
            (values.len() >= wanted).then_some(values)
        };
        let mut all = memory::zeroed::<u16>(total)?;
        let row = self.width * self.samples;
        // A few parts at a time, so that memory does not grow with their number.
        for some in parts.chunks(64) {
            let decoded: Vec<Option<Vec<u16>>> = some.par_iter().map(decode).collect();
            for (part, values) in some.iter().zip(decoded) {
                let values = values.ok_or_else(|| corrupt(path, "a strip or tile is damaged"))?;
                let (from, length) = (part.width * self.samples, part.area.width * self.samples);
                for j in 0..part.area.height {
                    let to = (part.area.y + j) * row + part.area.x * self.samples;
                    all[to..to + length].copy_from_slice(&values[j * from..j * from + length]);
                }
            }
        }
        let table = tree.numbers(&self.directory, tag::LINEARIZATION);
        if let Some(last) = table.len().checked_sub(1) {
            all.par_iter_mut()
                .for_each(|v| *v = table[usize::from(*v).min(last)] as u16);
        }
        Ok(all)
    }

    /// The places of the strips or tiles, and their lengths.
    pub(super) fn places(&self, tree: &Tree<'_>) -> Vec<[usize; 2]> {
        places(tree, &self.directory)
    }

    fn parts<'a>(&self, tree: &Tree<'a>) -> Option<Vec<Part<'a>>> {
        let count = |tag| tree.count(&self.directory, tag);
        let places = self.places(tree);
        let [width, height] = match self.directory.entry(tag::TILES) {
            Some(_) => [count(tag::TILE_WIDTH)?, count(tag::TILE_HEIGHT)?],
            None => [
                self.width,
                count(tag::STRIP_ROWS)
                    .unwrap_or(self.height)
                    .min(self.height),
            ],
        };
        if width == 0 || height == 0 || width > 1 << 20 {
            return None;
        }
        let across = self.width.div_ceil(width);
        if places.len() < across.checked_mul(self.height.div_ceil(height))? {
            return None;
        }
        let part = |(i, [place, length]): (usize, [usize; 2])| {
            let (x, y) = (i % across * width, i / across * height);
            let area = Area {
                x,
                y,
                width: width.min(self.width - x),
                height: height.min(self.height - y),
            };
            let data = tree.bytes.get(place..place.checked_add(length)?)?;
            Some(Part { area, width, data })
        };
        let needed = across * self.height.div_ceil(height);
        places
            .into_iter()
            .take(needed)
            .enumerate()
            .map(part)
            .collect()
    }
}

/// The places of the strips or tiles of a directory, and their lengths.
pub(super) fn places(tree: &Tree<'_>, directory: &Directory) -> Vec<[usize; 2]> {
    let mut all = Vec::new();
    for (places, lengths) in [
        (tag::TILES, tag::TILE_LENGTHS),
        (tag::STRIPS, tag::STRIP_LENGTHS),
        (tag::JPEG_PLACE, tag::JPEG_LENGTH),
    ] {
        let (places, lengths) = (
            tree.numbers(directory, places),
            tree.numbers(directory, lengths),
        );
        let pairs = places.into_iter().zip(lengths);
        all.extend(pairs.map(|(p, l)| [p as usize, l as usize]));
    }
    all
}

/// A strip or tile.
struct Part<'a> {
    /// The part of the picture that it covers.
    area: Area,
    /// Pixels of its rows.
    width: usize,
    data: &'a [u8],
}

/// Samples of uncompressed rows, which begin with a byte; 16 bits are in the order of the file, fewer from the highest bit on.
fn unpacked(
    data: &[u8],
    row: usize,
    rows: usize,
    (bits, little): (usize, bool),
) -> Option<Vec<u16>> {
    let stride = (row * bits).div_ceil(8);
    let data = data.get(..stride.checked_mul(rows)?)?;
    let mut out = memory::zeros::<u16>(row.checked_mul(rows)?);
    for (to, from) in out.chunks_exact_mut(row).zip(data.chunks_exact(stride)) {
        if bits == 16 {
            for (to, pair) in to.iter_mut().zip(from.chunks_exact(2)) {
                let pair = [pair[0], pair[1]];
                *to = if little {
                    u16::from_le_bytes(pair)
                } else {
                    u16::from_be_bytes(pair)
                };
            }
            continue;
        }
        let (mut held, mut count, mut bytes) = (0u32, 0, from.iter());
        for to in to.iter_mut() {
            while count < bits {
                held = held << 8 | u32::from(*bytes.next()?);
                count += 8;
            }
            count -= bits;
            *to = (held >> count) as u16 & ((1u32 << bits) - 1) as u16;
        }
    }
    Some(out)
}

/// The active area: top, left, bottom, right.
fn active(numbers: &[f64], all: Area) -> Area {
    let [top, left, bottom, right] = *numbers else {
        return all;
    };
    let inside =
        top >= 0.0 && left >= 0.0 && bottom <= all.height as f64 && right <= all.width as f64;
    if !inside || bottom - top < 2.0 || right - left < 2.0 {
        return all;
    }
    Area {
        x: left as usize,
        y: top as usize,
        width: (right - left) as usize,
        height: (bottom - top) as usize,
    }
}

/// The part of the active area that is shown.
fn shown(origin: &[f64], size: &[f64], active: Area) -> Area {
    let all = Area {
        x: 0,
        y: 0,
        ..active
    };
    let ([x, y], [width, height]) = (origin, size) else {
        return all;
    };
    let (x, y) = (x.round(), y.round());
    let inside = x >= 0.0
        && y >= 0.0
        && x + width <= active.width as f64
        && y + height <= active.height as f64;
    if !inside || *width < 1.0 || *height < 1.0 {
        return all;
    }
    Area {
        x: x as usize,
        y: y as usize,
        width: *width as usize,
        height: *height as usize,
    }
}

/// The mosaic, if it has red, green and blue in a rectangular grid.
fn pattern(tree: &Tree<'_>, directory: &Directory) -> Option<Pattern> {
    let size = tree.numbers(directory, tag::CFA_SIZE);
    let [height, width] = [0, 1].map(|i| size.get(i).map_or(2, |v| *v as usize));
    if !(1..=REPEATS).contains(&width) || !(1..=REPEATS).contains(&height) {
        return None;
    }
    if tree.count(directory, tag::LAYOUT).unwrap_or(1) != 1 {
        return None;
    }
    let colors: Vec<u8> = tree
        .numbers(directory, tag::CFA_PATTERN)
        .iter()
        .map(|v| *v as u8)
        .collect();
    let planes = tree.numbers(directory, tag::PLANE_COLOR);
    if !planes.is_empty() && planes != [0.0, 1.0, 2.0] {
        return None;
    }
    Pattern::new(width, height, colors)
}
