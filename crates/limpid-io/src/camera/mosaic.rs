//! The values of a sensor, decoded by `flashraw`, as the DNG writer takes them.

use super::super::dng::{Captured, Kept, Pattern};
use super::super::raster::{check_memory, check_size};
use super::{facts, unread};
use flashraw::{
    Backend, BlackLevel, CfaPattern, CorruptionPolicy, DecodeOptions, FlashRaw, FrameInfo, Limits,
    OutputFormat, PreviewEncoding, RawFrame, RawMetadata, Rect, SensorLayout,
};
use limpid_core::{Error, Result};
use std::path::Path;

/// A sample takes at least this part of a bit in any format; files that are shorter claim a size that they do not have.
const DENSEST: u64 = 64;

/// The most bytes of a preview that is kept.
const PREVIEW: u64 = 4 << 20;

/// Decodes a file. Its size is judged before its pixels are decoded, and damaged files are errors.
pub(super) fn decode(bytes: &[u8], path: &Path, limit: u64) -> Result<Captured> {
    // Room for the samples of the largest picture that is read, which becomes three planes of floats.
    let limits = Limits::default().with_max_samples(limit / 4);
    let fault = |e| error(e, path);
    let raw = FlashRaw::open_with(bytes, limits).map_err(fault)?;
    let info = raw.frame_info();
    refuse(raw.metadata(), info, path)?;
    let (width, height) = (u64::from(info.width), u64::from(info.height));
    let size = check_size((width, height, 3), limit, path)?;
    let total = width * height * u64::from(info.cpp);
    if total / DENSEST > bytes.len() as u64 {
        return Err(Error::damaged(format!(
            "{}: {} bytes cannot hold {total} samples",
            path.display(),
            bytes.len()
        )));
    }
    check_memory(size, 3)?;
    let preview = preview(&raw);
    let frame = raw.decode(choices(limits)).map_err(fault)?;
    captured(frame, bytes, preview, path)
}

/// The samples of a file whose size is known: width, height and samples per pixel.
pub(super) fn samples(bytes: &[u8], size: [usize; 3], path: &Path) -> Result<Vec<u16>> {
    let fault = |e| error(e, path);
    let total: usize = size.iter().product();
    let limits = Limits::default().with_max_samples(total as u64);
    let raw = FlashRaw::open_with(bytes, limits).map_err(fault)?;
    let info = raw.frame_info();
    if [info.width, info.height, info.cpp].map(|v| v as usize) != size {
        return Err(Error::damaged(format!(
            "{}: the picture has another size than the file says",
            path.display()
        )));
    }
    match raw.decode(choices(limits)).map_err(fault)?.data {
        flashraw::RawPixelData::U16(values) if values.len() == total => Ok(values),
        _ => Err(Error::damaged(format!(
            "{}: samples are missing",
            path.display()
        ))),
    }
}

/// Only the samples; damaged files are errors.
fn choices(limits: Limits) -> DecodeOptions {
    DecodeOptions {
        backend: Backend::Cpu,
        output: OutputFormat::RawU16,
        apply_opcodes: false,
        limits,
        corruption_policy: CorruptionPolicy::Strict,
        ..DecodeOptions::default()
    }
}

/// What a file says about itself, without its pixels.
pub(super) fn refuse(about: &RawMetadata, info: &FrameInfo, path: &Path) -> Result<()> {
    let what = |what: String| Err(unread(path, &format!("{}: {what}", named(about))));
    let aspect = info.pixel_aspect;
    if aspect.is_finite() && (aspect - 1.0).abs() > 0.01 {
        return what("the pixels of its sensor are not square, which is not supported".to_owned());
    }
    let turned = about.extra("fuji_rotate").is_some_and(|v| v != "none")
        || about.extra("cfa_layout").is_some_and(|v| v != "1");
    if info.layout == SensorLayout::OtherCfa && turned {
        return what(
            "the pixels of its sensor stand on a corner, which is not supported".to_owned(),
        );
    }
    if info.sample_format != flashraw::SampleFormat::U16 {
        return what("its samples are floats, which is not supported".to_owned());
    }
    match (info.cpp, &info.cfa) {
        (1, Some(pattern)) if colors(pattern).is_some() => Ok(()),
        (1, Some(pattern)) => what(format!(
            "a mosaic of other colours than red, green and blue ({pattern}), which is not supported"
        )),
        (1, None) => what("its sensor sees no colours, which is not supported".to_owned()),
        (3, _) => Ok(()),
        (count, _) => what(format!(
            "{count} samples for each pixel, which is not supported"
        )),
    }
}

/// The camera in words.
pub(super) fn named(about: &RawMetadata) -> String {
    match about.camera() {
        name if name.is_empty() => "unknown camera".to_owned(),
        name => name,
    }
}

fn colors(pattern: &CfaPattern) -> Option<Pattern> {
    let colors = pattern.colors().iter().map(|c| *c as u8).collect();
    Pattern::new(pattern.width(), pattern.height(), colors)
}

fn captured(
    frame: RawFrame,
    bytes: &[u8],
    preview: Option<[usize; 4]>,
    path: &Path,
) -> Result<Captured> {
    let about = &frame.metadata;
    let (width, height) = (frame.width as usize, frame.height as usize);
    let samples = frame.cpp as usize;
    let full = Rect::full(frame.width, frame.height);
    let active = frame.active_area.intersect(&full).unwrap_or(full);
    let shown = frame.crop.intersect(&active).unwrap_or(active);
    let (x, y) = (active.x as usize, active.y as usize);
    let pattern = match samples {
        1 => frame.cfa.map(|p| p.shifted(x, y)).and_then(|p| colors(&p)),
        _ => None,
    };
    let (black, white) = levels(&frame, &active);
    let white_balance = frame.white_balance.map(|w| {
        let [red, green, blue, _] = w.coeffs.map(f64::from);
        [red / green, 1.0, blue / green]
    });
    let applied = frame.white_balance_applied;
    let mut kept = Kept::found(bytes);
    facts::complete(&mut kept, about);
    let made = Captured {
        width,
        height,
        samples,
        pattern,
        active: [x, y, active.width as usize, active.height as usize],
        shown: [
            (shown.x - active.x) as usize,
            (shown.y - active.y) as usize,
            shown.width as usize,
            shown.height as usize,
        ],
        black,
        white,
        neutral: match applied {
            true => Some([1.0; 3]),
            false => white_balance.map(|w| w.map(|v| 1.0 / v)),
        },
        balance: white_balance.filter(|_| applied),
        matrices: matrices(&frame),
        orientation: frame.orientation.exif() as u16,
        camera: [about.make.clone(), about.model.clone(), unique(about)],
        kept,
        preview,
        values: match frame.data {
            flashraw::RawPixelData::U16(values) => values,
            _ => Vec::new(),
        },
    };
    match made.fits() {
        true => Ok(made),
        false => Err(Error::damaged(format!(
            "{}: the areas of the sensor lie outside of it",
            path.display()
        ))),
    }
}

/// The name of the camera that developers look for.
fn unique(about: &RawMetadata) -> String {
    about
        .unique_camera_model
        .clone()
        .unwrap_or_else(|| named(about))
}

/// Black levels of the active area, and white levels.
fn levels(frame: &RawFrame, active: &Rect) -> (([usize; 2], Vec<f64>), Vec<f64>) {
    let (x, y) = (active.x as usize, active.y as usize);
    let black: BlackLevel = frame.black_level.shifted(x, y);
    let size = [
        usize::from(black.rows.max(1)),
        usize::from(black.cols.max(1)),
    ];
    let samples = frame.cpp as usize;
    let each = (0..size[0] * size[1] * samples).map(|i| {
        let (pixel, c) = (i / samples, i % samples);
        f64::from(black.at(pixel % size[1], pixel / size[1], c))
    });
    let white = &frame.white_level;
    let white = match samples {
        // A mosaic has one level: that of the colour that is full first.
        1 => vec![f64::from(white.min().max(1))],
        _ => (0..samples)
            .map(|c| f64::from(white.at(c).max(1)))
            .collect(),
    };
    ((size, each.collect()), white)
}

/// The matrices of three colours, that for daylight last.
fn matrices(frame: &RawFrame) -> Vec<(u16, [f64; 9])> {
    let all = &frame.color_matrices;
    let three = |m: &flashraw::ColorMatrix| -> Option<(u16, [f64; 9])> {
        let values: Vec<f64> = m.values.iter().map(|v| f64::from(*v)).collect();
        let values: [f64; 9] = values.try_into().ok()?;
        let sane = values.iter().all(|v| v.is_finite() && v.abs() < 100.0);
        let some = values.iter().any(|v| *v != 0.0);
        (sane && some).then_some((m.illuminant.0, values))
    };
    let mut found: Vec<(u16, [f64; 9])> = all.color.iter().filter_map(three).collect();
    if found.len() > 2 {
        let preferred = all.preferred().and_then(three);
        found = preferred.into_iter().collect();
    }
    for (illuminant, _) in &mut found {
        if *illuminant == 0 {
            *illuminant = 21;
        }
    }
    found
}

/// The largest JPEG preview that is small, lies as the picture does, and says its size.
fn preview(raw: &FlashRaw<'_>) -> Option<[usize; 4]> {
    let fits = |p: &&flashraw::PreviewInfo| {
        p.encoding == PreviewEncoding::Jpeg
            && p.length <= PREVIEW
            && p.width.min(p.height) > 0
            && p.orientation == raw.metadata().orientation
            && raw
                .preview_bytes(p)
                .is_ok_and(|b| b.starts_with(&[0xff, 0xd8, 0xff]))
    };
    let found = raw.previews().iter().filter(fits);
    let p = found.max_by_key(|p| u64::from(p.width) * u64::from(p.height))?;
    let place = usize::try_from(p.offset).ok()?;
    let length = usize::try_from(p.length).ok()?;
    Some([place, length, p.width as usize, p.height as usize])
}

/// What is wrong with a file, in our words.
pub(super) fn error(error: flashraw::Error, path: &Path) -> Error {
    use flashraw::Error as Fault;
    let path_and = |what: String| format!("{}: {what}", path.display());
    match error {
        Fault::UnsupportedFormat(_) => unread(path, "a raw file of a kind that is not read here"),
        Fault::UnsupportedCompression {
            format,
            compression,
        } => unread(
            path,
            &format!("a {format} file with {compression}, which is not read here"),
        ),
        Fault::CameraUnsupported { make, model, .. } => unread(
            path,
            &format!("a raw file of {make} {model}, which is not read here"),
        ),
        Fault::LimitExceeded(_) => Error::too_large(path_and(
            "the picture is larger than the limit; raise the limit".to_owned(),
        )),
        Fault::InvalidMetadata(why) | Fault::NotAvailable(why) => unread(
            path,
            &format!("a raw file that does not say how it is to be read ({why})"),
        ),
        other => Error::damaged(path_and(format!("the raw file is damaged: {other}"))),
    }
}
