//! Writes changed samples into a copy of a file. Nothing else moves, so that whatever points into the file still does: the new
//! pixels take the place of the old ones if they fit, and directories that change are added at the end.

use super::ljpeg;
use super::sensor::{Sensor, places};
use super::tree::{Directory, Entry, Pen, Tree, tag};
use limpid_core::{Error, Image, Result};
use rayon::prelude::*;
use std::path::Path;

/// The side of tiles along a picture of this length: a multiple of 16, at most 512. LibRaw does not read tiles that are wider than
/// the picture.
fn tile(length: usize) -> usize {
    (length / 16 * 16).clamp(16, 512)
}

/// An entry of a directory: its tag, type, number of values and their bytes.
pub(super) type DirectoryEntry = (u16, u16, u32, Vec<u8>);

/// Types of entries.
pub(super) const SHORT: u16 = 3;
pub(super) const LONG: u16 = 4;
pub(super) const RATIONAL: u16 = 5;
pub(super) const SIGNED: u16 = 10;

/// Entries of the old picture that do not hold for the new one: places, compression, tables, noise.
const GONE: [u16; 11] = [
    tag::STRIPS,
    tag::STRIP_ROWS,
    tag::STRIP_LENGTHS,
    tag::FILL_ORDER,
    tag::PREDICTOR,
    tag::LINEARIZATION,
    tag::NOISE,
    tag::DIGEST,
    tag::NEW_DIGEST,
    tag::UNIQUE_ID,
    tag::REDUCED,
];

/// The file with the samples of an image.
pub(super) fn write(image: &Image, bytes: &[u8], sensor: &Sensor, path: &Path) -> Result<Vec<u8>> {
    let Some(tree) = Tree::new(bytes) else {
        return Err(super::corrupt(path, "it is not a TIFF file of 32 bits"));
    };
    let (active, size) = (sensor.active, image.size());
    if (size.width, size.height, image.channels()) != (active.width, active.height, sensor.samples)
    {
        return Err(Error::input(format!(
            "{}: {size} with {} channels; the sensor has {}x{} with {}",
            path.display(),
            image.channels(),
            active.width,
            active.height,
            sensor.samples
        )));
    }
    // The borders without light stay.
    let mut values = sensor.values(&tree, path)?;
    let factor = sensor.store(image, &mut values);
    let pen = Pen {
        little: tree.little,
    };
    let items = match factor > 1 {
        true => sensor.scaled_levels(&tree, factor, pen),
        false => Vec::new(),
    };
    let size = (sensor.width, sensor.height, sensor.samples);
    put((&values, size), (&tree, sensor), (items, &[]), path)
}

/// The file with other samples, of a size and a number per pixel; some entries of the directory of the picture are new, and some go.
pub(super) fn put(
    (values, (width, height, samples)): (&[u16], (usize, usize, usize)),
    (tree, sensor): (&Tree<'_>, &Sensor),
    (new, gone): (Vec<DirectoryEntry>, &[u16]),
    path: &Path,
) -> Result<Vec<u8>> {
    let bytes = tree.bytes;
    let tiles = tiles(values, (width, height), samples);
    let mut out = Vec::new();
    limpid_core::memory::reserve(&mut out, bytes.len())?;
    out.extend_from_slice(bytes);
    let all = tree.directories();
    let mut room = room(tree, sensor, &all);
    let mut found = Vec::new();
    for tile in &tiles {
        found.push((place(&mut out, &mut room, tile), tile.len()));
    }
    // What is left of the old pixels is not the new picture's.
    for [from, to] in room {
        match to == out.len() {
            true => out.truncate(from),
            false => out[from..to].fill(0),
        }
    }
    let pen = Pen {
        little: tree.little,
    };
    let mut items = layout(pen, &found, (width, height), samples);
    items.extend(new);
    items.push((
        tag::REDUCED,
        RATIONAL,
        1,
        [pen.long(1), pen.long(1)].concat(),
    ));
    replace(&mut out, pen, &sensor.directory, (items, gone));
    let first = &all[0];
    if first.at != sensor.directory.at {
        // Its entry may have led to the old directory of the picture.
        let now = Tree {
            bytes: &out,
            little: tree.little,
        }
        .directories();
        if let Some(first) = now.first() {
            replace(&mut out, pen, &first.clone(), (Vec::new(), &[]));
        }
    }
    match u32::try_from(out.len()) {
        Ok(_) => Ok(out),
        Err(_) => Err(Error::unsupported(format!(
            "{}: more than 4 GiB do not fit into a DNG file",
            path.display()
        ))),
    }
}

/// The tiles of a picture, as lossless JPEG: two columns of a mosaic are two components, so that each value is predicted from the
/// same colour.
pub(super) fn tiles(
    values: &[u16],
    (width, height): (usize, usize),
    samples: usize,
) -> Vec<Vec<u8>> {
    let (wide, high) = (tile(width), tile(height));
    let across = width.div_ceil(wide);
    let made = |i: usize| {
        let (left, top) = (i % across * wide, i / across * high);
        let mut part = Vec::with_capacity(wide * high * samples);
        for y in top..top + high {
            // Beyond the borders, the same colours again.
            let inside = |v: usize, n: usize| match v < n {
                true => v,
                false => (n - 1).saturating_sub((v - n + 1) % 2).min(n - 1),
            };
            let row = inside(y, height) * width;
            for x in left..left + wide {
                let at = (row + inside(x, width)) * samples;
                part.extend_from_slice(&values[at..at + samples]);
            }
        }
        match samples {
            1 => ljpeg::encode(&part, ((wide / 2) as u16, high as u16), 2),
            _ => ljpeg::encode(&part, (wide as u16, high as u16), samples as u8),
        }
    };
    let count = across * height.div_ceil(high);
    (0..count).into_par_iter().map(made).collect()
}

/// The entries that say where tiles are.
pub(super) fn layout(
    pen: Pen,
    places: &[(usize, usize)],
    (width, height): (usize, usize),
    samples: usize,
) -> Vec<DirectoryEntry> {
    let shorts =
        |tag, value: u16, count: usize| (tag, SHORT, count as u32, pen.short(value).repeat(count));
    let longs = |tag, values: Vec<u32>| {
        (
            tag,
            LONG,
            values.len() as u32,
            values.into_iter().flat_map(|v| pen.long(v)).collect(),
        )
    };
    vec![
        longs(tag::WIDTH, vec![width as u32]),
        longs(tag::HEIGHT, vec![height as u32]),
        shorts(tag::BITS, 16, samples),
        shorts(tag::COMPRESSION, 7, 1),
        longs(tag::TILE_WIDTH, vec![tile(width) as u32]),
        longs(tag::TILE_HEIGHT, vec![tile(height) as u32]),
        longs(tag::TILES, places.iter().map(|t| t.0 as u32).collect()),
        longs(
            tag::TILE_LENGTHS,
            places.iter().map(|t| t.1 as u32).collect(),
        ),
    ]
}

/// The places of the old pixels, joined, unless something else lies there, too.
fn room(tree: &Tree<'_>, sensor: &Sensor, all: &[Directory]) -> Vec<[usize; 2]> {
    let range = |[place, length]: [usize; 2]| [place, place.saturating_add(length)];
    let inside = |[from, to]: &[usize; 2]| from < to && *to <= tree.bytes.len();
    let mut old: Vec<[usize; 2]> = sensor
        .places(tree)
        .into_iter()
        .map(range)
        .filter(inside)
        .collect();
    old.sort_unstable();
    let mut taken = vec![[0, 8]];
    for directory in all {
        taken.push(range([directory.at, directory.length()]));
        let values = directory.entries.iter().filter(|e| e.length() > 4);
        taken.extend(values.map(|e: &Entry| range([e.place, e.length()])));
        if directory.at != sensor.directory.at {
            taken.extend(places(tree, directory).into_iter().map(range));
        }
    }
    let meets = |a: &[usize; 2], b: &[usize; 2]| a[0] < b[1] && b[0] < a[1];
    taken.sort_unstable();
    let overlaps = old.windows(2).any(|w| meets(&w[0], &w[1]));
    if overlaps || old.iter().any(|o| taken.iter().any(|t| meets(o, t))) {
        return Vec::new();
    }
    let mut joined: Vec<[usize; 2]> = Vec::new();
    for [from, to] in old {
        match joined.last_mut() {
            // Tiles may begin at even places.
            Some(last) if from - last[1] <= 1 => last[1] = to,
            _ => joined.push([from, to]),
        }
    }
    joined
}

/// Puts bytes into the first place that is large enough, or to the end.
fn place(out: &mut Vec<u8>, room: &mut [[usize; 2]], bytes: &[u8]) -> usize {
    for [from, to] in room.iter_mut() {
        let at = from.next_multiple_of(2);
        if at + bytes.len() <= *to {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            *from = at + bytes.len();
            return at;
        }
    }
    append(out, bytes)
}

fn append(out: &mut Vec<u8>, bytes: &[u8]) -> usize {
    out.resize(out.len().next_multiple_of(2), 0);
    out.extend_from_slice(bytes);
    out.len() - bytes.len()
}

/// Adds a directory with some entries changed to the end, and leads to it instead of the old one.
fn replace(
    out: &mut Vec<u8>,
    pen: Pen,
    directory: &Directory,
    (items, gone): (Vec<DirectoryEntry>, &[u16]),
) {
    let new: Vec<u16> = items.iter().map(|i| i.0).collect();
    let mut entries: Vec<(u16, Vec<u8>)> = Vec::new();
    for entry in &directory.entries {
        let goes = GONE.contains(&entry.tag) || gone.contains(&entry.tag);
        if !goes && !new.contains(&entry.tag) {
            entries.push((entry.tag, out[entry.at..entry.at + 12].to_vec()));
        }
    }
    let next = out[directory.end..directory.end + 4].to_vec();
    for item in items {
        entries.push((item.0, entry(out, pen, item)));
    }
    let at = append(out, &listed(pen, entries, &next));
    out[directory.pointer..directory.pointer + 4].copy_from_slice(&pen.long(at as u32));
}

/// The bytes of an entry; values that do not fit are appended.
pub(super) fn entry(
    out: &mut Vec<u8>,
    pen: Pen,
    (tag, kind, count, mut value): DirectoryEntry,
) -> Vec<u8> {
    if value.len() > 4 {
        value = pen.long(append(out, &value) as u32).to_vec();
    }
    value.resize(4, 0);
    [
        &pen.short(tag)[..],
        &pen.short(kind),
        &pen.long(count),
        &value,
    ]
    .concat()
}

/// The bytes of a directory.
pub(super) fn listed(pen: Pen, mut entries: Vec<(u16, Vec<u8>)>, next: &[u8]) -> Vec<u8> {
    entries.sort_by_key(|e| e.0);
    let mut made = pen.short(entries.len() as u16).to_vec();
    entries.iter().for_each(|e| made.extend(&e.1));
    made.extend(next);
    made
}
