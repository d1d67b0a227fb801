//! A linear picture in the place of a mosaic: three colours for each pixel, in the colours of the camera.

use super::sensor::Sensor;
use super::tree::{Pen, Tree, tag};
use super::write::{DirectoryEntry, LONG, SHORT, put};
use super::{Pattern, demosaic};
use limpid_core::{Image, Result, memory};
use rayon::prelude::*;
use std::path::Path;

/// Black and white of the samples: noise goes below black.
const BLACK: f32 = 1024.0;
const WHITE: f32 = 65535.0;

/// Entries that hold for mosaics only: colours, areas and levels, and the corrections that are made before demosaicing.
const MOSAIC: [u16; 11] = [
    tag::CFA_SIZE,
    tag::CFA_PATTERN,
    tag::PLANE_COLOR,
    tag::LAYOUT,
    tag::BLACK_ACROSS,
    tag::BLACK_DOWN,
    tag::ACTIVE,
    tag::MASKED,
    tag::GREENS,
    tag::OPCODES[0],
    tag::OPCODES[1],
];

/// Three colours for each pixel. Light that is grey is grey while this is done, as differences of colours are smooth then.
pub(super) fn colors(image: &Image, pattern: &Pattern, balance: [f32; 3]) -> Result<Image> {
    let (width, height) = (image.width(), image.height());
    let mut balanced = Image::try_new(width, height, 1)?;
    let rows = balanced
        .plane_mut(0)
        .par_chunks_exact_mut(width)
        .enumerate();
    rows.for_each(|(y, row)| {
        for (x, (to, v)) in row.iter_mut().zip(image.row(0, y)).enumerate() {
            *to = v * balance[pattern.color(x, y)];
        }
    });
    let mut full = demosaic(&balanced, pattern)?;
    for (c, balance) in balance.iter().enumerate() {
        full.plane_mut(c).par_iter_mut().for_each(|v| *v /= balance);
    }
    Ok(full)
}

/// The file of a mosaic with a picture of three colours, the size of its active area.
pub(super) fn write(image: &Image, bytes: &[u8], sensor: &Sensor, path: &Path) -> Result<Vec<u8>> {
    let Some(tree) = Tree::new(bytes) else {
        return Err(super::corrupt(path, "it is not a TIFF file of 32 bits"));
    };
    let (width, height) = (image.width(), image.height());
    let mut values = memory::zeroed::<u16>(3 * width * height)?;
    let rows = values.par_chunks_exact_mut(3 * width).enumerate();
    rows.for_each(|(y, row)| {
        for c in 0..3 {
            let to = row[c..].iter_mut().step_by(3);
            for (to, v) in to.zip(image.row(c, y)) {
                let v = v * (WHITE - BLACK) + BLACK;
                *to = v.round().clamp(0.0, 65535.0) as u16;
            }
        }
    });
    let pen = Pen {
        little: tree.little,
    };
    let short = |tag, value: u16| -> DirectoryEntry { (tag, SHORT, 1, pen.short(value).to_vec()) };
    let longs = |tag, value: f32| (tag, LONG, 3, pen.long(value as u32).repeat(3));
    let items = vec![
        short(tag::PHOTOMETRIC, 34892),
        short(tag::SAMPLES, 3),
        short(tag::PLANAR, 1),
        (tag::BLACK_SIZE, SHORT, 2, pen.short(1).repeat(2)),
        longs(tag::BLACK, BLACK),
        longs(tag::WHITE, WHITE),
    ];
    let size = (width, height, 3);
    put((&values, size), (&tree, sensor), (items, &MOSAIC), path)
}
