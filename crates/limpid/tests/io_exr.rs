//! EXR files: what is recognised, what survives, what is refused.
#![cfg(feature = "io")]

use exr::prelude::{
    AnyChannel, AnyChannels, Blocks, Compression, Encoding, FlatSamples, Image as ExrImage,
    ImageAttributes, IntegerBounds, Layer as ExrLayer, LayerAttributes, LineOrder, Text, Vec2,
    WritableImage, f16,
};
use limpid::io::{self, Origin, ReadOptions, WriteOptions};
use limpid::{Error, Frame, Image, Kind, Layer, Part};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn scratch(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

fn read(path: &Path) -> io::Picture {
    io::read(path, &ReadOptions::default()).unwrap()
}

fn write(path: &Path, frame: &Frame, origin: Option<&Origin>) -> Vec<String> {
    io::write(path, frame, origin, &WriteOptions::default()).unwrap()
}

/// Values that differ everywhere and that half floats hold.
fn ramp(seed: usize) -> impl Fn(usize) -> f32 {
    move |i| ((i * 7 + seed * 13) % 1024) as f32 / 64.0
}

fn half(name: &str, count: usize, seed: usize) -> AnyChannel<FlatSamples> {
    let values = (0..count).map(|i| f16::from_f32(ramp(seed)(i))).collect();
    AnyChannel::new(name, FlatSamples::F16(values))
}

fn float(name: &str, count: usize, seed: usize) -> AnyChannel<FlatSamples> {
    let values = (0..count).map(|i| ramp(seed)(i) + 1e-5).collect();
    AnyChannel::new(name, FlatSamples::F32(values))
}

fn uint(name: &str, count: usize) -> AnyChannel<FlatSamples> {
    let values = (0..count).map(|i| u32::MAX - i as u32).collect();
    AnyChannel::new(name, FlatSamples::U32(values))
}

fn part(
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

fn save(path: &Path, size: (usize, usize), parts: Vec<ExrLayer<AnyChannels<FlatSamples>>>) {
    let attributes = ImageAttributes::with_size(size);
    let image = ExrImage::from_layers(attributes, parts);
    image.write().to_file(path).unwrap();
}

fn raw(path: &Path) -> exr::prelude::FlatImage {
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

fn names(frame: &Frame) -> Vec<String> {
    frame.layers().map(|(l, _)| l.to_string()).collect()
}

/// A frame with every kind in every part.
fn full_frame(width: usize, height: usize) -> Frame {
    let mut frame = Frame::empty(limpid::Size::new(width, height)).unwrap();
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

#[test]
fn every_layer_of_a_new_file_reads_back_exactly() {
    for (width, height) in [(1, 1), (1, 40), (37, 19)] {
        let (_folder, path) = scratch("a.exr");
        let frame = full_frame(width, height);
        write(&path, &frame, None);
        let back = read(&path);
        assert_eq!(back.frame, frame);
        assert_eq!(back.notes, Vec::<String>::new());
    }
}

#[test]
fn grey_frames_read_back_exactly() {
    let (_folder, path) = scratch("a.exr");
    let mut frame = Frame::new(Image::from_fn(5, 4, 1, |x, y, _| (x + y) as f32)).unwrap();
    let image = Image::from_fn(5, 4, 1, |x, y, _| (x * y) as f32);
    for layer in [
        "color.a",
        "color.b",
        "color.variance",
        "dx",
        "dy",
        "light:k",
    ] {
        let layer: Layer = layer.parse().unwrap();
        frame.insert(layer, image.clone()).unwrap();
    }
    write(&path, &frame, None);
    assert_eq!(read(&path).frame, frame);
}

#[test]
fn the_same_frame_gives_the_same_bytes() {
    let (_folder, path) = scratch("a.exr");
    let frame = full_frame(9, 7);
    write(&path, &frame, None);
    let first = std::fs::read(&path).unwrap();
    write(&path, &read(&path).frame, Some(&read(&path).origin));
    assert_eq!(std::fs::read(&path).unwrap(), first);
}

#[test]
fn mitsuba_layers_are_recognised() {
    let (_folder, path) = scratch("a.exr");
    let n = 6 * 5;
    let mut channels: Vec<_> = ["B", "G", "R"].map(|c| half(c, n, 1)).into();
    for layer in ["albedo", "b"] {
        channels.extend(["R", "G", "B"].map(|c| half(&format!("{layer}.{c}"), n, 2)));
    }
    for layer in ["normal", "position"] {
        channels.extend(["X", "Y", "Z"].map(|c| half(&format!("{layer}.{c}"), n, 3)));
    }
    channels.extend(["R", "G", "B"].map(|c| float(&format!("variance.{c}"), n, 4)));
    channels.push(float("depth.Z", n, 5));
    save(&path, (6, 5), vec![part(None, (6, 5), channels)]);
    let picture = read(&path);
    assert_eq!(
        names(&picture.frame),
        [
            "color",
            "color.a",
            "color.b",
            "color.variance",
            "albedo",
            "normal",
            "position",
            "depth"
        ]
    );
    // The second half is given, the first is the colour itself.
    let color = picture.frame.color().unwrap();
    let half_a = picture.frame.get(Layer::new(Kind::Color, Part::HalfA));
    assert_eq!(half_a, Some(color));
    assert!(picture.notes[0].contains("half A"), "{:?}", picture.notes);
}

#[test]
fn blender_parts_are_recognised() {
    let (_folder, path) = scratch("a.exr");
    let size = (8, 4);
    let n = 32;
    let blender = |name: &str, letters: &[&str]| {
        let name = format!("ViewLayer.{name}");
        let channels = letters.iter().enumerate();
        let channels = channels.map(|(i, c)| float(&format!("{name}.{c}"), n, i));
        part(Some(&name), size, channels.collect())
    };
    save(
        &path,
        size,
        vec![
            blender("Combined", &["A", "B", "G", "R"]),
            blender("Depth", &["Z"]),
            blender("Normal", &["X", "Y", "Z"]),
            blender("Denoising Normal", &["X", "Y", "Z"]),
            blender("Denoising Albedo", &["B", "G", "R"]),
            blender("Vector", &["W", "X", "Y", "Z"]),
            blender("DiffDir", &["B", "G", "R"]),
            blender("CryptoObject00", &["a", "b", "g", "r"]),
        ],
    );
    let picture = read(&path);
    let frame = &picture.frame;
    assert_eq!(
        names(frame),
        [
            "color",
            "alpha",
            "albedo",
            "normal",
            "depth",
            "motion",
            "light:DiffDir"
        ]
    );
    // R is the fourth channel by name, hence seed 3.
    assert_eq!(frame.color().unwrap().get(2, 0, 0), ramp(3)(2) + 1e-5);
    // Blender's motion points up, ours down.
    let motion = frame.get(Kind::Motion).unwrap();
    assert_eq!(motion.get(2, 0, 0), ramp(1)(2) + 1e-5);
    assert_eq!(motion.get(2, 0, 1), -(ramp(2)(2) + 1e-5));

    // Written back: all parts, channels and values are the same.
    let (_other, out) = scratch("b.exr");
    write(&out, frame, Some(&picture.origin));
    assert_eq!(raw(&out).layer_data, raw(&path).layer_data);
}

#[test]
fn untouched_channels_types_windows_and_attributes_survive() {
    let (_folder, path) = scratch("a.exr");
    let size = (7, 5);
    let n = 35;
    let mut main = part(
        Some("main"),
        size,
        vec![
            half("R", n, 1),
            half("G", n, 2),
            half("B", n, 3),
            half("A", n, 4),
            uint("id", n),
            float("my data.Q", n, 5),
        ],
    );
    main.attributes.layer_position = Vec2(-3, 11);
    main.attributes.owner = Some(Text::from("somebody"));
    main.attributes.other.insert(
        Text::from("custom"),
        exr::meta::attribute::AttributeValue::Text(Text::from("kept")),
    );
    main.encoding.compression = Compression::PIZ;
    let mut other = part(Some("mask"), (3, 2), vec![float("mask.M", 6, 9)]);
    other.encoding.compression = Compression::RLE;
    let mut attributes = ImageAttributes::new(IntegerBounds::new((-10, -20), (100, 50)));
    attributes.pixel_aspect = 1.5;
    let image = ExrImage::from_layers(attributes, vec![main, other]);
    image.write().to_file(&path).unwrap();

    let picture = read(&path);
    assert_eq!(names(&picture.frame), ["color", "alpha", "id"]);
    let (_other, out) = scratch("b.exr");

    // Nothing changed: all is equal, also the integers that a float cannot hold.
    write(&out, &picture.frame, Some(&picture.origin));
    assert_eq!(raw(&out).layer_data, raw(&path).layer_data);
    assert_eq!(raw(&out).attributes, raw(&path).attributes);

    // Colour alone is written, as a denoiser gives it back: the rest comes from the origin.
    let bright = picture.frame.color().unwrap().map(|v| v + 1.0);
    let frame = Frame::new(bright.clone()).unwrap();
    write(&out, &frame, Some(&picture.origin));
    let (before, after) = (raw(&path), raw(&out));
    assert_eq!(after.attributes, before.attributes);
    for (old, new) in before.layer_data.iter().zip(&after.layer_data) {
        assert_eq!(new.attributes, old.attributes);
        assert_eq!(new.encoding, old.encoding);
        for (old, new) in old.channel_data.list.iter().zip(&new.channel_data.list) {
            assert_eq!(old.name, new.name);
            let color = ["R", "G", "B"].iter().any(|c| old.name.eq(c));
            assert_eq!(old.sample_data == new.sample_data, !color, "{}", old.name);
        }
    }
    assert_eq!(read(&out).frame.color().unwrap(), &bright);
}

#[test]
fn new_layers_are_added_beside_the_old_ones() {
    let (_folder, path) = scratch("a.exr");
    let channels = ["R", "G", "B"].map(|c| half(c, 12, 1)).into();
    save(&path, (4, 3), vec![part(None, (4, 3), channels)]);
    let mut picture = read(&path);
    let normal = Image::from_fn(4, 3, 3, |x, y, c| (x + y + c) as f32 / 3.0);
    picture.frame.insert(Kind::Normal, normal).unwrap();
    write(&path, &picture.frame, Some(&picture.origin));
    assert_eq!(read(&path).frame, picture.frame);
}

#[test]
fn a_frame_of_another_size_keeps_attributes_and_says_what_it_loses() {
    let (_folder, path) = scratch("a.exr");
    let mut channels: Vec<_> = ["R", "G", "B"].map(|c| half(c, 12, 1)).into();
    channels.push(float("other.Q", 12, 3));
    let mut layer = part(None, (4, 3), channels);
    layer.attributes.owner = Some(Text::from("somebody"));
    save(&path, (4, 3), vec![layer]);
    let picture = read(&path);
    let frame = Frame::new(Image::new(2, 2, 3)).unwrap();
    let notes = write(&path, &frame, Some(&picture.origin));
    assert!(notes[0].contains("2x2"), "{notes:?}");
    assert_eq!(read(&path).frame, frame);
    let owner = &raw(&path).layer_data[0].attributes.owner;
    assert_eq!(*owner, Some(Text::from("somebody")));
}

#[test]
fn every_compression_and_tiling_reads_and_writes() {
    let size = (70, 45);
    let n = 70 * 45;
    let methods = [
        Compression::Uncompressed,
        Compression::RLE,
        Compression::ZIP1,
        Compression::ZIP16,
        Compression::PIZ,
        Compression::PXR24,
        Compression::B44,
        Compression::B44A,
        Compression::DWAA(Some(45.0)),
        Compression::DWAB(None),
    ];
    for compression in methods {
        for blocks in [Blocks::ScanLines, Blocks::Tiles(Vec2(32, 16))] {
            for kind in [half, float] {
                let (_folder, path) = scratch("a.exr");
                let mut layer = part(
                    None,
                    size,
                    vec![
                        kind("R", n, 1),
                        kind("G", n, 2),
                        kind("B", n, 3),
                        kind("Z", n, 4),
                    ],
                );
                layer.encoding.compression = compression;
                layer.encoding.blocks = blocks;
                save(&path, size, vec![layer]);
                let picture = read(&path);
                let expected = raw(&path);
                let z = picture.frame.get(Kind::Depth).unwrap();
                let stored = &expected.layer_data[0].channel_data.list[3].sample_data;
                let stored: Vec<f32> = stored.values_as_f32().collect();
                assert_eq!(z.data(), stored, "{compression} {blocks:?}");

                let (_other, out) = scratch("b.exr");
                write(&out, &picture.frame, Some(&picture.origin));
                let written = raw(&out);
                let encoding = written.layer_data[0].encoding;
                assert_eq!(encoding.compression, compression);
                assert_eq!(encoding.blocks, blocks);
                let lossless = !compression.may_loose_data();
                if lossless {
                    assert_eq!(written.layer_data, expected.layer_data, "{compression}");
                }
            }
        }
    }
}

#[test]
fn parts_of_another_size_are_kept_and_told() {
    let (_folder, path) = scratch("a.exr");
    let color = part(
        Some("rgba"),
        (4, 3),
        ["R", "G", "B"].map(|c| half(c, 12, 1)).into(),
    );
    let normal = part(
        Some("N"),
        (2, 3),
        ["X", "Y", "Z"].map(|c| half(c, 6, 2)).into(),
    );
    save(&path, (4, 3), vec![color, normal]);
    let picture = read(&path);
    assert_eq!(names(&picture.frame), ["color"]);
    let note = &picture.notes[0];
    assert!(note.contains("2x3") && note.contains("4x3"), "{note}");
    let (_other, out) = scratch("b.exr");
    write(&out, &picture.frame, Some(&picture.origin));
    assert_eq!(raw(&out).layer_data, raw(&path).layer_data);

    let options = ReadOptions::default().layer("normal=N").unwrap();
    let error = io::read(&path, &options).unwrap_err().to_string();
    assert!(error.contains("2x3"), "{error}");
}

#[test]
fn layers_are_taken_by_the_names_that_are_asked_for() {
    let (_folder, path) = scratch("a.exr");
    let n = 12;
    let mut channels: Vec<_> = ["R", "G", "B"].map(|c| half(c, n, 1)).into();
    channels.extend(["x", "y", "z"].map(|c| half(&format!("odd.{c}"), n, 2)));
    channels.extend([half("n1", n, 5), half("n2", n, 6), half("n3", n, 7)]);
    save(&path, (4, 3), vec![part(None, (4, 3), channels)]);
    let with = |what: &str| {
        let options = ReadOptions::default().layer(what).unwrap();
        io::read(&path, &options)
    };
    let normal = |picture: io::Picture| picture.frame.get(Kind::Normal).unwrap().get(1, 0, 0);
    assert_eq!(normal(with("normal=odd").unwrap()), ramp(2)(1));
    assert_eq!(normal(with("normal=ODD").unwrap()), ramp(2)(1));
    assert_eq!(normal(with("normal=n3, n2, n1").unwrap()), ramp(7)(1));
    let error = with("normal=odt").unwrap_err().to_string();
    assert!(error.contains("Did you mean 'odd'?"), "{error}");
    assert!(error.contains("a.exr"), "{error}");
    let error = with("normal=n1").unwrap_err().to_string();
    assert!(error.contains("3 channels"), "{error}");
    let error = with("depth=n1,n2").unwrap_err().to_string();
    assert!(error.contains("1 channels"), "{error}");
    assert!(ReadOptions::default().layer("norml=N").is_err());
}

#[test]
fn files_without_colour_say_what_they_have() {
    let (_folder, path) = scratch("a.exr");
    let channels = vec![
        half("N.X", 4, 1),
        half("N.Y", 4, 2),
        half("N.Z", 4, 3),
        half("Z", 4, 4),
    ];
    save(&path, (2, 2), vec![part(None, (2, 2), channels)]);
    let error = io::read(&path, &ReadOptions::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("--layer color=") && text.contains("N (X,Y,Z)"),
        "{text}"
    );
    let mut options = ReadOptions::default();
    options.need_color = false;
    let picture = io::read(&path, &options).unwrap();
    assert_eq!(names(&picture.frame), ["normal", "depth"]);
    let picture = io::read(&path, &options.layer("color=N").unwrap()).unwrap();
    assert_eq!(names(&picture.frame), ["color", "depth"]);
}

#[test]
fn the_only_picture_is_the_colour() {
    let (_folder, path) = scratch("a.exr");
    let channels = ["R", "G", "B"].map(|c| half(&format!("shot 12.{c}"), 4, 1));
    save(&path, (2, 2), vec![part(None, (2, 2), channels.into())]);
    let picture = read(&path);
    assert_eq!(names(&picture.frame), ["color"]);
    assert!(picture.notes[0].contains("shot 12"), "{:?}", picture.notes);
}

#[test]
fn variances_of_samples_become_variances_of_the_mean() {
    let (_folder, path) = scratch("a.exr");
    let n = 4;
    let constant = |name: &str, v: f32| AnyChannel::new(name, FlatSamples::F32(vec![v; n]));
    let rgb = |layer: &str, v: f32| ["R", "G", "B"].map(|c| constant(&format!("{layer}.{c}"), v));
    let mut channels: Vec<_> = ["R", "G", "B"].map(|c| half(c, n, 1)).into();
    channels.extend(rgb("albedo", 0.5));
    channels.extend(rgb("albedo_var", 8.0));
    save(&path, (2, 2), vec![part(None, (2, 2), channels.clone())]);
    let picture = read(&path);
    assert_eq!(names(&picture.frame), ["color", "albedo"]);
    assert!(
        picture.notes[0].contains("albedo_var"),
        "{:?}",
        picture.notes
    );

    channels.push(constant("sampleCount", 16.0));
    save(&path, (2, 2), vec![part(None, (2, 2), channels.clone())]);
    let picture = read(&path);
    let variance = Layer::new(Kind::Albedo, Part::Variance);
    assert_eq!(picture.frame.get(variance).unwrap().data(), [0.5; 12]);
    let (_other, out) = scratch("b.exr");
    write(&out, &picture.frame, Some(&picture.origin));
    assert_eq!(raw(&out).layer_data, raw(&path).layer_data);

    // PBRT gives the number as an attribute.
    let mut channels: Vec<_> = ["R", "G", "B"].map(|c| half(c, n, 1)).into();
    channels.extend(rgb("Variance", 8.0));
    let mut layer = part(None, (2, 2), channels);
    layer.attributes.other.insert(
        Text::from("samplesPerPixel"),
        exr::meta::attribute::AttributeValue::I32(4),
    );
    save(&path, (2, 2), vec![layer]);
    let variance = Layer::new(Kind::Color, Part::Variance);
    assert_eq!(read(&path).frame.get(variance).unwrap().data(), [2.0; 12]);
}

#[test]
fn escaped_rays_are_infinitely_far_and_come_back_as_they_were() {
    let (_folder, path) = scratch("a.exr");
    let mut channels: Vec<_> = ["R", "G", "B"].map(|c| half(c, 4, 1)).into();
    let depth = vec![1.0, 1e10, 3.0, f32::MAX];
    channels.push(AnyChannel::new("Z", FlatSamples::F32(depth.clone())));
    save(&path, (2, 2), vec![part(None, (2, 2), channels)]);
    let picture = read(&path);
    let read = picture.frame.get(Kind::Depth).unwrap().data();
    assert_eq!(read, [1.0, f32::INFINITY, 3.0, f32::INFINITY]);
    write(&path, &picture.frame, Some(&picture.origin));
    let raw = raw(&path);
    let written = &raw.layer_data[0].channel_data.list[3].sample_data;
    assert_eq!(*written, FlatSamples::F32(depth));
}

#[test]
fn half_files_stay_finite() {
    let (_folder, path) = scratch("a.exr");
    save(
        &path,
        (1, 1),
        vec![part(
            None,
            (1, 1),
            ["R", "G", "B"].map(|c| half(c, 1, 1)).into(),
        )],
    );
    let picture = read(&path);
    let frame = Frame::new(picture.frame.color().unwrap().map(|_| 1e6)).unwrap();
    write(&path, &frame, Some(&picture.origin));
    assert_eq!(read(&path).frame.color().unwrap().data(), [65504.0; 3]);
}

#[test]
fn truncated_files_are_told_as_such() {
    let (_folder, path) = scratch("a.exr");
    write(&path, &full_frame(16, 33), None);
    let bytes = std::fs::read(&path).unwrap();
    for length in [6, 40, 300, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let error = io::read(&path, &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Input(_)), "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains("truncated") && text.contains("a.exr"),
            "{length}: {text}"
        );
    }
}

/// Changes an attribute's bytes in a file's header.
fn patch(bytes: &mut [u8], attribute: &[u8], offset: usize, value: &[u8]) {
    let at = bytes
        .windows(attribute.len())
        .position(|w| w == attribute)
        .unwrap();
    let at = at + attribute.len() + offset;
    bytes[at..at + value.len()].copy_from_slice(value);
}

#[test]
fn what_cannot_be_read_is_said_plainly() {
    let (_folder, path) = scratch("a.exr");
    write(&path, &Frame::new(Image::new(4, 4, 3)).unwrap(), None);
    let bytes = std::fs::read(&path).unwrap();
    let answer = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut changed = bytes.clone();
        change(&mut changed);
        std::fs::write(&path, changed).unwrap();
        io::read(&path, &ReadOptions::default())
            .unwrap_err()
            .to_string()
    };
    let window = b"dataWindow\0box2i\0";
    let int = |v: i32| v.to_le_bytes();
    let empty = answer(&|b| patch(b, window, 4 + 8, &int(-1)));
    assert!(empty.contains("no pixels"), "{empty}");
    let huge = answer(&|b| patch(b, window, 4 + 12, &int(1_000_000_000)));
    assert!(huge.contains("truncated"), "{huge}");
    let wide = answer(&|b| patch(b, window, 4 + 8, &int(1_000_000_000)));
    assert!(
        wide.contains("limit") || wide.contains("cannot hold"),
        "{wide}"
    );
    let deep = answer(&|b| b[5] |= 0x08);
    assert!(deep.contains("deep"), "{deep}");
    let version = answer(&|b| b[4] = 3);
    assert!(version.contains("version 3"), "{version}");
    let jpeg2000 = answer(&|b| patch(b, b"compression\0compression\0", 4, &[10]));
    assert!(jpeg2000.contains("HTJ2K"), "{jpeg2000}");
    // B is the first channel: name, zero, type, four bytes, then the sampling.
    let sampled = answer(&|b| patch(b, b"chlist\0", 4 + 2 + 4 + 4, &int(2)));
    assert!(sampled.contains("sub-sampling"), "{sampled}");
}
