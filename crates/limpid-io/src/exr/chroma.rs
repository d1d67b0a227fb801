//! Colour stored as luminance and chroma: `Y`, `RY` and `BY`, the latter two usually at half the resolution.
//!
//! The channels become `R`, `G` and `B` when a file is read: `RY` is `R / Y - 1` and `BY` is `B / Y - 1`, and `Y` is the weighted mean of
//! the three. Missing samples of chroma are interpolated as OpenEXR does it; its last step, which reduces the saturation of single
//! pixels, is left out.

use super::blocks::array;
use super::{PartSource, Samples};
use ::exr::math::Vec2;
use ::exr::meta::attribute::{ChannelDescription, ChannelList, Text};
use ::exr::meta::header::Header;
use limpid_core::{Error, Result};
use std::path::Path;

/// Weights of the samples at an odd distance of 1, 3, … 13 on both sides: they make the missing half of the samples.
const BETWEEN: [f32; 7] = [
    0.627123, -0.186077, 0.087929, -0.043159, 0.019597, -0.007540, 0.002128,
];

/// The sampling of each channel of each header.
pub(super) type Samplings = Vec<Vec<Vec2<usize>>>;

/// Where the list of channels of a header is in the file.
pub(super) type Lists = Vec<std::ops::Range<usize>>;

/// The sampling of each channel in a list, and where it is.
fn samplings(list: &[u8]) -> Vec<(usize, Vec2<usize>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(length) = list[at..].iter().position(|b| *b == 0).filter(|l| *l > 0) {
        // The name, its end, the type and four bytes.
        at += length + 9;
        let int = |i: usize| array(list, at + i).map(i32::from_le_bytes);
        let (Some(x), Some(y)) = (int(0), int(4)) else {
            break;
        };
        let size = |v: i32| usize::try_from(v).unwrap_or(0);
        found.push((at, Vec2(size(x), size(y))));
        at += 8;
    }
    found
}

/// The headers of a file without coarser channels, which the `exr` crate refuses, if there are any; and the true samplings.
pub(super) fn whole(bytes: &[u8], lists: &Lists) -> Option<(Vec<u8>, Samplings)> {
    let all: Vec<Vec<(usize, Vec2<usize>)>> =
        lists.iter().map(|l| samplings(&bytes[l.clone()])).collect();
    let coarse = |(_, s): &(usize, Vec2<usize>)| *s != Vec2(1, 1) && s.0 > 0 && s.1 > 0;
    if !all.iter().flatten().any(coarse) {
        return None;
    }
    let mut copy = bytes.to_vec();
    for (list, found) in lists.iter().zip(&all) {
        for (at, _) in found {
            let ones = [1, 0, 0, 0, 1, 0, 0, 0];
            copy[list.start + at..][..8].copy_from_slice(&ones);
        }
    }
    let samplings = |found: Vec<(usize, Vec2<usize>)>| found.into_iter().map(|(_, s)| s).collect();
    Some((copy, all.into_iter().map(samplings).collect()))
}

/// Gives the channels of headers their true samplings, if these are supported.
pub(super) fn restore(
    headers: &mut [Header],
    samplings: &[Vec<Vec2<usize>>],
    path: &Path,
) -> Result<()> {
    for (header, samplings) in headers.iter_mut().zip(samplings) {
        for (channel, sampling) in header.channels.list.iter_mut().zip(samplings) {
            channel.sampling = *sampling;
        }
        let list = &header.channels.list;
        let coarse = |c: &&ChannelDescription| c.sampling != Vec2(1, 1);
        let Some(channel) = list.iter().find(coarse) else {
            continue;
        };
        let path = path.display();
        let corner = header.own_attributes.layer_position;
        let fits = corner.0 % 2 == 0
            && corner.1 % 2 == 0
            && header.layer_size.0 % 2 == 0
            && header.layer_size.1 % 2 == 0;
        if list.iter().filter(coarse).all(|c| c.sampling == Vec2(2, 2)) && !fits {
            return Err(Error::damaged(format!(
                "{path}: corrupt OpenEXR file: channel {} has half the resolution of a window that is not even",
                channel.name
            )));
        }
        let known = find(header).is_some_and(|[y, ry, by]| {
            let others = list
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != ry && *i != by);
            list[y].sampling == Vec2(1, 1)
                && others.into_iter().all(|(_, c)| c.sampling == Vec2(1, 1))
                && [ry, by].iter().all(|i| list[*i].sampling == Vec2(2, 2))
        });
        if !known {
            return Err(Error::unsupported(format!(
                "{path}: channel {} is stored at a lower resolution ({}x{} sub-sampling), which is supported for the chroma of \
                 Y, RY and BY only; write it at full resolution",
                channel.name, channel.sampling.0, channel.sampling.1
            )));
        }
    }
    Ok(())
}

/// The channels `Y`, `RY` and `BY` of a part.
fn find(header: &Header) -> Option<[usize; 3]> {
    let list = &header.channels.list;
    let named = |name: &str| list.iter().position(|c| c.name == *name);
    Some([named("Y")?, named("RY")?, named("BY")?])
}

/// The header of a part with red, green and blue instead of luminance and chroma.
pub(super) fn shown(header: &Header) -> Header {
    let mut header = header.clone();
    if let Some(found) = find(&header) {
        let mut list: Vec<_> = renamed(&header, found).map(|(_, c)| c).collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        header.channels = ChannelList::new(list.into());
    }
    header
}

/// All channels under their new names, with their number in the file.
fn renamed(
    header: &Header,
    [y, ry, by]: [usize; 3],
) -> impl Iterator<Item = (usize, ChannelDescription)> {
    header.channels.list.iter().enumerate().map(move |(i, c)| {
        let name = match i {
            _ if i == ry => "R",
            _ if i == y => "G",
            _ if i == by => "B",
            _ => return (i, c.clone()),
        };
        (
            i,
            ChannelDescription::named(Text::from(name), c.sample_type),
        )
    })
}

/// Whether a part of the file holds luminance and chroma, as a note.
pub(super) fn note(headers: &[Header]) -> Option<String> {
    headers.iter().any(|h| find(h).is_some()).then(|| {
        "luminance and chroma (Y, RY, BY) are read, and written, as red, green and blue".to_owned()
    })
}

/// Turns luminance and chroma into red, green and blue.
pub(super) fn convert(part: PartSource) -> Result<PartSource> {
    let Some(found @ [y, ry, by]) = find(&part.header) else {
        return Ok(part);
    };
    let header = shown(&part.header);
    let size = part.header.layer_size;
    let plane = |i: usize| -> Result<Vec<f32>> {
        let half = part.header.channels.list[i].sampling != Vec2(1, 1);
        let (width, height) = if half {
            (size.0 / 2, size.1 / 2)
        } else {
            (size.0, size.1)
        };
        let mut values = limpid_core::memory::zeroed(width * height)?;
        part.samples[i].to_f32(&mut values);
        match half {
            true => doubled(&values, (width, height)),
            false => Ok(values),
        }
    };
    let [luminance, mut red, mut blue] = [plane(y)?, plane(ry)?, plane(by)?];
    let mut green = luminance;
    let weights = weights(&part.header);
    for ((g, r), b) in green.iter_mut().zip(&mut red).zip(&mut blue) {
        [*r, *g, *b] = rgb(*g, [*r, *b], weights);
    }
    let kinds: Vec<_> = part
        .header
        .channels
        .list
        .iter()
        .map(|c| c.sample_type)
        .collect();
    let mut samples: Vec<(ChannelDescription, Samples)> = Vec::new();
    let mut old: Vec<Option<Samples>> = part.samples.into_iter().map(Some).collect();
    for (i, channel) in renamed(&part.header, found) {
        let values = match i {
            _ if i == y => Samples::from_f32(&green, kinds[i]),
            _ if i == ry => Samples::from_f32(&red, kinds[i]),
            _ if i == by => Samples::from_f32(&blue, kinds[i]),
            _ => match old[i].take() {
                Some(kept) => kept,
                None => continue,
            },
        };
        samples.push((channel, values));
    }
    samples.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    Ok(PartSource {
        header,
        samples: samples.into_iter().map(|(_, s)| s).collect(),
    })
}

/// Colour from luminance and chroma. Without chroma it is exactly grey.
fn rgb(y: f32, [ry, by]: [f32; 2], weights: [f32; 3]) -> [f32; 3] {
    if ry == 0.0 && by == 0.0 {
        return [y; 3];
    }
    let (r, b) = ((ry + 1.0) * y, (by + 1.0) * y);
    [r, (y - r * weights[0] - b * weights[2]) / weights[1], b]
}

/// The weights of red, green and blue in luminance: those of the file's primaries, or of Rec. 709.
fn weights(header: &Header) -> [f32; 3] {
    let rec709 = [0.212_639, 0.715_168_7, 0.072_192_3];
    let Some(c) = header.shared_attributes.chromaticities else {
        return rec709;
    };
    // The weights for which the primaries add up to white, as x, y and z divided by y.
    let column = |p: Vec2<f32>| [p.0, p.1, 1.0 - p.0 - p.1].map(f64::from);
    let [r, g, b, w] = [c.red, c.green, c.blue, c.white].map(column);
    let determinant = |a: [f64; 3], b: [f64; 3], c: [f64; 3]| {
        a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1])
            + c[0] * (a[1] * b[2] - a[2] * b[1])
    };
    let whole = determinant(r, g, b) * w[1];
    let found = [
        determinant(w, g, b) * r[1] / whole,
        determinant(r, w, b) * g[1] / whole,
        determinant(r, g, w) * b[1] / whole,
    ];
    match found.iter().all(|v| v.is_finite()) && found[1] > 0.0 {
        true => found.map(|v| v as f32),
        false => rec709,
    }
}

/// A plane of twice the size.
fn doubled(values: &[f32], (width, height): (usize, usize)) -> Result<Vec<f32>> {
    let mut wide = limpid_core::memory::zeroed(2 * width * height)?;
    for (row, out) in values.chunks(width).zip(wide.chunks_mut(2 * width)) {
        for (x, out) in out.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            *out = [row[x], between(x, width, |i| row[i])];
        }
    }
    let wide_row = |y: usize| &wide[y * 2 * width..][..2 * width];
    let mut all = limpid_core::memory::zeroed(4 * width * height)?;
    for (y, rows) in all.chunks_mut(4 * width).enumerate() {
        let (even, odd) = rows.split_at_mut(2 * width);
        even.copy_from_slice(wide_row(y));
        for (x, out) in odd.iter_mut().enumerate() {
            *out = between(y, height, |i| wide_row(i)[x]);
        }
    }
    Ok(all)
}

/// The value between two samples; the borders are repeated.
fn between(at: usize, count: usize, value: impl Fn(usize) -> f32) -> f32 {
    let weights = BETWEEN.iter().enumerate();
    weights
        .map(|(i, w)| {
            let (before, after) = (at.saturating_sub(i), (at + 1 + i).min(count - 1));
            w * (value(before) + value(after))
        })
        .sum()
}
