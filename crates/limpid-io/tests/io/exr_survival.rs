//! EXR files: which data is preserved.

use crate::*;

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

    // Nothing changed: everything is equal, including integers that a float cannot represent.
    write(&out, &picture.frame, Some(&picture.origin));
    assert_eq!(raw(&out).layer_data, raw(&path).layer_data);
    assert_eq!(raw(&out).attributes, raw(&path).attributes);

    // Writes colour alone, like a denoiser: the rest comes from the origin.
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

/// Layers that are kept are compressed again, which is told once for a file and only if values change.
#[test]
fn kept_layers_that_lose_precision_are_told() {
    let size = (64, 48);
    let n = 64 * 48;
    for (compression, word) in [
        (Compression::DWAA(Some(45.0)), "DWAA"),
        (Compression::DWAB(None), "DWAB"),
        (Compression::B44, "B44 "),
        (Compression::B44A, "B44A"),
        (Compression::ZIP16, ""),
        (Compression::PIZ, ""),
    ] {
        for (kept, changes) in [("Q", false), ("R", true)] {
            let channels = |c: &str, seed| {
                let names = ["R", "G", "B"].map(|n| format!("{c}{n}"));
                names.map(|n| half(&n, 64 * 48, seed)).into()
            };
            let color = part(Some("color"), size, channels("", 1));
            // B44 packs whatever is half, DWAA what is called a colour.
            let odd = |name: &str, seed| match kept {
                "R" => part(Some(name), size, vec![half("extra.R", n, seed)]),
                _ => part(Some(name), size, vec![float("extra.Q", n, seed)]),
            };
            let mut parts = vec![color, odd("one", 2), odd("two", 3), odd("three", 4)];
            for part in &mut parts {
                part.encoding.compression = compression;
            }
            let (_folder, path) = scratch("a.exr");
            save(&path, size, parts);
            let picture = read(&path);
            let color = Frame::new(picture.frame.color().unwrap().map(|v| v / 2.0)).unwrap();
            let (_other, out) = scratch("b.exr");
            let notes = write(&out, &color, Some(&picture.origin));
            let told: Vec<_> = notes
                .iter()
                .filter(|n| n.contains("compressed again"))
                .collect();
            let told_of = usize::from(changes && !word.is_empty());
            assert_eq!(told.len(), told_of, "{word} {kept}: {notes:?}");
            assert!(told.iter().all(|note| note.contains(word)), "{notes:?}");
            // What is told is true.
            let (before, after) = (raw(&path).layer_data, raw(&out).layer_data);
            let pairs = before.iter().zip(&after).skip(1);
            let same = pairs.clone().all(|(a, b)| a.channel_data == b.channel_data);
            assert!(same || told_of == 1, "{word} {kept}");
        }
    }
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
