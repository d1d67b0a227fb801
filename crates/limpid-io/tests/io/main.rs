//! Files: which data is recognised, preserved, rejected.
#![expect(clippy::unwrap_used, reason = "these are tests, helpers included")]

#[cfg(feature = "raw")]
mod cameras;
mod changes;
mod damage;
mod dngs;
mod door;
mod exr_deep;
mod exr_htj2k;
mod exr_layers;
mod exr_refusal;
mod exr_survival;
mod rasters;
mod tiffs;

use exr::prelude::{
    AnyChannel, AnyChannels, Blocks, Compression, Encoding, FlatSamples, Image as ExrImage,
    ImageAttributes, IntegerBounds, Layer as ExrLayer, LayerAttributes, LineOrder, Text, Vec2,
    WritableImage, f16,
};
use limpid_core::{Error, Frame, Image, Kind, Layer, Part};
use limpid_io::{self as io, Origin, ReadOptions, WriteOptions};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) fn scratch(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

pub(crate) fn read(path: &Path) -> io::Picture {
    io::read(path, &ReadOptions::default()).unwrap()
}

pub(crate) fn write(path: &Path, frame: &Frame, origin: Option<&Origin>) -> Vec<String> {
    io::write(path, frame, origin, &WriteOptions::default()).unwrap()
}

/// Distinct values that half floats represent exactly.
pub(crate) fn ramp(seed: usize) -> impl Fn(usize) -> f32 {
    move |i| ((i * 7 + seed * 13) % 1024) as f32 / 64.0
}

pub(crate) fn half(name: &str, count: usize, seed: usize) -> AnyChannel<FlatSamples> {
    let values = (0..count).map(|i| f16::from_f32(ramp(seed)(i))).collect();
    AnyChannel::new(name, FlatSamples::F16(values))
}

pub(crate) fn float(name: &str, count: usize, seed: usize) -> AnyChannel<FlatSamples> {
    let values = (0..count).map(|i| ramp(seed)(i) + 1e-5).collect();
    AnyChannel::new(name, FlatSamples::F32(values))
}

pub(crate) fn uint(name: &str, count: usize) -> AnyChannel<FlatSamples> {
    let values = (0..count).map(|i| u32::MAX - i as u32).collect();
    AnyChannel::new(name, FlatSamples::U32(values))
}

pub(crate) fn part(
    name: Option<&str>,
    (width, height): (usize, usize),
    channels: Vec<AnyChannel<FlatSamples>>,
) -> ExrLayer<AnyChannels<FlatSamples>> {
    ExrLayer::new(
        (width, height),
        LayerAttributes {
            layer_name: name.map(Text::from),
            ..LayerAttributes::default()
        },
        Encoding {
            compression: Compression::ZIP16,
            blocks: Blocks::ScanLines,
            line_order: LineOrder::Increasing,
        },
        AnyChannels::sort(channels.into()),
    )
}

pub(crate) fn save(
    path: &Path,
    size: (usize, usize),
    parts: Vec<ExrLayer<AnyChannels<FlatSamples>>>,
) {
    let attributes = ImageAttributes::with_size(size);
    let image = ExrImage::from_layers(attributes, parts);
    image.write().to_file(path).unwrap();
}

pub(crate) fn raw(path: &Path) -> exr::prelude::FlatImage {
    use exr::prelude::*;
    read()
        .no_deep_data()
        .largest_resolution_level()
        .all_channels()
        .all_layers()
        .all_attributes()
        .from_file(path)
        .unwrap()
}

pub(crate) fn names(frame: &Frame) -> Vec<String> {
    frame.layers().map(|(l, _)| l.to_string()).collect()
}

/// A frame with every kind in every part.
pub(crate) fn full_frame(width: usize, height: usize) -> Frame {
    let mut frame = Frame::empty(limpid_core::Size::new(width, height)).unwrap();
    let lights = ["key", "rim.a", "fill.variance", "Größe 1"].map(|l| Kind::Light(l.into()));
    let mut seed = 0;
    for kind in Kind::NAMED.into_iter().chain(lights) {
        for part in [Part::Mean, Part::HalfA, Part::HalfB, Part::Variance] {
            for &channels in kind.channels().iter().rev().take(1) {
                seed += 1;
                let image = Image::from_fn(width, height, channels, |x, y, c| {
                    ((x * 31 + y * 17 + c * 5 + seed) as f32).sin()
                });
                frame.insert(Layer::new(kind.clone(), part), image).unwrap();
            }
        }
    }
    frame
}
