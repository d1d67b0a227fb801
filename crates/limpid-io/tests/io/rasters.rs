//! PNG, TIFF, JPEG, HDR, PFM: round trips, conversions, preserved data.

use crate::*;
use limpid_core::srgb_to_linear;
use limpid_io::{Bits, Format, Transfer};
use std::io::Cursor;
use tiff::encoder::colortype as tc;
use tiff::encoder::{Compression as Packing, DeflateLevel, TiffEncoder};
use tiff::tags::{ExtraSamples, Tag};

/// An image of values that an integer type represents exactly.
fn photo(channels: usize, max: f32) -> Image {
    Image::from_fn(13, 7, channels, |x, y, c| {
        ((x * 997 + y * 131 + c * 59) as f32 % (max + 1.0)).floor() / max
    })
}

fn round_trip(frame: &Frame, name: &str, options: &WriteOptions) -> io::Picture {
    let (_folder, path) = scratch(name);
    io::write(&path, frame, None, options).unwrap();
    read(&path)
}

fn encoded(bits: Bits) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.bits = Some(bits);
    options.transfer = Some(Transfer::Encoded);
    options
}

/// Read, write, read again: pixels and metadata are the same, also if the frame has colour only.
pub(crate) fn survives(path: &Path) -> io::Picture {
    let first = read(path);
    let facts = |path: &Path| {
        let facts = io::inspect(path, &ReadOptions::default()).unwrap();
        let part = facts.parts[0].clone();
        (
            part.attributes,
            part.compression,
            part.layers[0].channels[0].sample.clone(),
        )
    };
    let before = facts(path);
    let color = Frame::new(first.frame.color().unwrap().clone()).unwrap();
    for frame in [&first.frame, &color] {
        let out = path.with_file_name(format!("again-{}", path.file_name().unwrap().display()));
        write(&out, frame, Some(&first.origin));
        let again = read(&out);
        assert_eq!(again.frame, first.frame);
        assert_eq!(facts(&out), before);
    }
    first
}

#[test]
fn integers_read_back_exactly() {
    for (bits, max) in [(Bits::Eight, 255.0), (Bits::Sixteen, 65535.0)] {
        for name in ["a.png", "a.tif"] {
            for channels in [1, 3] {
                let mut frame = Frame::new(photo(channels, max)).unwrap();
                assert_eq!(round_trip(&frame, name, &encoded(bits)).frame, frame);
                frame.insert(Kind::Alpha, photo(1, max)).unwrap();
                let back = round_trip(&frame, name, &encoded(bits));
                assert_eq!(back.frame, frame, "{name} {bits:?} {channels}");
                assert_eq!(back.origin.transfer(), Transfer::Encoded);
            }
        }
    }
}

#[test]
fn floats_read_back_exactly() {
    for name in ["a.tiff", "a.pfm"] {
        for channels in [1, 3] {
            let image = Image::from_fn(6, 5, channels, |x, y, c| {
                (x as f32 - 2.5) * 1e3_f32.powi(y as i32 - 2) + c as f32
            });
            let mut frame = Frame::new(image).unwrap();
            let back = round_trip(&frame, name, &WriteOptions::default());
            assert_eq!(back.frame, frame, "{name}");
            assert_eq!(back.origin.transfer(), Transfer::Linear);
            if name == "a.tiff" {
                let alpha = Image::from_fn(6, 5, 1, |x, _, _| x as f32 / 5.0);
                frame.insert(Kind::Alpha, alpha).unwrap();
                let back = round_trip(&frame, name, &WriteOptions::default());
                assert_eq!(back.frame, frame);
            }
        }
    }
}

#[test]
fn one_pixel_is_a_picture() {
    for format in Format::ALL.iter().copied() {
        let frame = Frame::new(Image::from_fn(1, 1, 3, |_, _, _| 1.0)).unwrap();
        let name = format!("a.{}", format.extensions()[0]);
        let back = round_trip(&frame, &name, &WriteOptions::default());
        let value = back.frame.color().unwrap().get(0, 0, 1);
        assert!((value - 1.0).abs() < 0.02, "{format}: {value}");
    }
}

#[test]
fn hdr_pixels_survive_in_every_width() {
    for width in [1, 7, 8, 9, 127, 128, 200, 300] {
        let (_folder, path) = scratch("a.hdr");
        let image = Image::from_fn(width, 4, 3, |x, y, c| {
            // Runs of every length, and no runs.
            let step = [1, 3, 50, 400][y];
            ((x / step) * 37 % 251 + c) as f32 * 2.0_f32.powi((x / 60) as i32 - 3)
        });
        write(&path, &Frame::new(image.clone()).unwrap(), None);
        let first = survives(&path);
        let read = first.frame.color().unwrap();
        for y in 0..4 {
            for x in 0..width {
                let pixel = |i: &Image| [0, 1, 2].map(|c| i.get(x, y, c));
                let (a, b) = (pixel(&image), pixel(read));
                let largest = a[0].max(a[1]).max(a[2]);
                (0..3).for_each(|c| assert!((a[c] - b[c]).abs() <= largest / 256.0 + 1e-30));
            }
        }
    }
}

#[test]
fn hdr_headers_survive_and_old_codings_read() {
    let (_folder, path) = scratch("a.hdr");
    let mut file =
        b"#?RGBE\n# a comment\nEXPOSURE= 2.5\nFORMAT=32-bit_rle_rgbe\n\n+Y 2 +X 5\n".to_vec();
    file.extend([10, 20, 30, 129, 1, 1, 1, 4]);
    file.extend([[1_u8, 2, 3, 128]; 5].concat());
    std::fs::write(&path, file).unwrap();
    let picture = survives(&path);
    let color = picture.frame.color().unwrap();
    // From bottom to top.
    assert_eq!(color.get(4, 1, 0), 10.0 / 128.0);
    assert_eq!(color.get(4, 0, 2), 3.0 / 256.0);
    let out = path.with_file_name("again-a.hdr");
    let text = std::fs::read(out).unwrap();
    assert!(text.windows(12).any(|w| w == b"EXPOSURE= 2."));
    assert!(text.starts_with(b"#?RGBE\n# a comment"));
}

#[test]
fn pfm_keeps_its_byte_order() {
    let (_folder, path) = scratch("a.pfm");
    let mut file = b"Pf\n3 2\n2.5\n".to_vec();
    file.extend((0..6).flat_map(|i| (i as f32).to_be_bytes()));
    std::fs::write(&path, &file).unwrap();
    let picture = survives(&path);
    // Rows are stored from bottom to top.
    assert_eq!(
        picture.frame.color().unwrap().data(),
        [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]
    );
    let again = std::fs::read(path.with_file_name("again-a.pfm")).unwrap();
    assert_eq!(again, file);
}

fn png_file(path: &Path, color: png::ColorType, depth: png::BitDepth, data: &[u8], width: u32) {
    let file = std::fs::File::create(path).unwrap();
    let samples = (data.len() * 8) as u32 / depth as u32;
    let mut encoder = png::Encoder::new(file, width, samples / width / color.samples() as u32);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == png::ColorType::Indexed {
        encoder.set_palette(vec![255, 0, 0, 0, 255, 0, 0, 0, 255, 51, 51, 51]);
        encoder.set_trns(vec![255, 128, 0]);
    }
    encoder.set_source_gamma(png::ScaledFloat::new(1.0 / 2.2));
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: 3000,
        yppu: 3000,
        unit: png::Unit::Meter,
    }));
    encoder
        .add_text_chunk("Author".into(), "somebody".into())
        .unwrap();
    encoder
        .add_itxt_chunk("Titel".into(), "Größe".into())
        .unwrap();
    let mut writer = encoder.write_header().unwrap();
    writer
        .write_chunk(png::chunk::iCCP, b"profile\0\0not really one")
        .unwrap();
    writer.write_image_data(data).unwrap();
}

#[test]
fn png_palettes_and_small_depths_read() {
    use png::{BitDepth, ColorType};
    let (_folder, path) = scratch("a.png");
    png_file(&path, ColorType::Indexed, BitDepth::Two, &[0b0001_1011], 4);
    let picture = survives(&path);
    let color = picture.frame.color().unwrap();
    assert_eq!(color.plane(0), [1.0, 0.0, 0.0, 0.2]);
    assert_eq!(color.plane(1), [0.0, 1.0, 0.0, 0.2]);
    let alpha = picture.frame.get(Kind::Alpha).unwrap();
    assert_eq!(alpha.data(), [1.0, 128.0 / 255.0, 0.0, 1.0]);

    png_file(
        &path,
        ColorType::Grayscale,
        BitDepth::One,
        &[0b1010_0000],
        8,
    );
    let picture = survives(&path);
    assert_eq!(
        picture.frame.color().unwrap().data()[..4],
        [1.0, 0.0, 1.0, 0.0]
    );
}

#[test]
fn png_profile_text_and_resolution_survive() {
    use png::{BitDepth, ColorType};
    let (_folder, path) = scratch("a.png");
    let data: Vec<u8> = (0..3 * 2 * 4 * 2).map(|i| (i * 5) as u8).collect();
    png_file(&path, ColorType::Rgba, BitDepth::Sixteen, &data, 3);
    let picture = survives(&path);
    assert_eq!(picture.origin.text("Author").as_deref(), Some("somebody"));
    let facts = io::inspect(path.with_file_name("again-a.png"), &ReadOptions::default()).unwrap();
    for chunk in ["iCCP", "gAMA", "pHYs", "Author", "Titel"] {
        assert!(
            facts.parts[0].attributes.contains(&chunk.to_owned()),
            "{chunk}"
        );
    }
    assert_eq!(facts.parts[0].layers[0].channels[0].sample, "16 bit");
}

#[test]
fn jpeg_segments_and_quality_survive() {
    let (_folder, path) = scratch("a.jpg");
    let smooth = Image::from_fn(40, 24, 3, |x, y, c| (x + y + 10 * c) as f32 / 100.0);
    let mut options = encoded(Bits::Eight);
    options.quality = Some(83);
    let frame = Frame::new(smooth.clone()).unwrap();
    io::write(&path, &frame, None, &options).unwrap();
    // EXIF, a profile, a comment, after the start of the image.
    let mut file = std::fs::read(&path).unwrap();
    let segments: [&[u8]; 3] = [
        b"\xff\xe1\x00\x0aExif\0\0II",
        b"\xff\xe2\x00\x10ICC_PROFILE\0\x01\x01",
        b"\xff\xfe\x00\x06hail",
    ];
    file.splice(2..2, segments.concat());
    std::fs::write(&path, file).unwrap();
    let picture = read(&path);
    let out = path.with_file_name("b.jpg");
    write(&out, &picture.frame, Some(&picture.origin));
    let facts = io::inspect(&out, &ReadOptions::default()).unwrap();
    assert_eq!(facts.parts[0].compression, "quality 83");
    assert_eq!(
        facts.parts[0].attributes,
        ["EXIF", "ICC profile", "comment", "APP0"]
    );
    let back = read(&out).frame;
    let pairs = back.color().unwrap().data().iter().zip(smooth.data());
    let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst < 0.05, "{worst}");

    let grey = Frame::new(Image::from_fn(9, 9, 1, |x, _, _| x as f32 / 9.0)).unwrap();
    assert_eq!(
        round_trip(&grey, "g.jpg", &options)
            .frame
            .color()
            .unwrap()
            .channels(),
        1
    );
}

/// Some programs leave bytes between the segments; libjpeg skips them.
#[test]
fn jpeg_stray_bytes_are_skipped() {
    let (_folder, path) = scratch("a.jpg");
    let smooth = Image::from_fn(40, 24, 3, |x, y, c| (x + y + 10 * c) as f32 / 100.0);
    let frame = Frame::new(smooth).unwrap();
    io::write(&path, &frame, None, &encoded(Bits::Eight)).unwrap();
    let plain = read(&path);
    let mut file = std::fs::read(&path).unwrap();
    let length = 2 + usize::from(u16::from_be_bytes([file[4], file[5]]));
    file.splice(2 + length..2 + length, *b"hello");
    std::fs::write(&path, file).unwrap();
    let picture = read(&path);
    let pixels = |p: &io::Picture| p.frame.color().unwrap().data().to_vec();
    assert_eq!(pixels(&picture), pixels(&plain));
    let note = "stray bytes between the headers are skipped";
    assert!(picture.notes[0].ends_with(note), "{:?}", picture.notes);
}

#[test]
fn tiff_tags_packing_and_layouts_survive() {
    let packings = [
        Packing::Uncompressed,
        Packing::Lzw,
        Packing::Deflate(DeflateLevel::Fast),
        Packing::Packbits,
    ];
    for packing in packings {
        let (_folder, path) = scratch("a.tif");
        let mut file = Cursor::new(Vec::new());
        let mut encoder = TiffEncoder::new(&mut file)
            .unwrap()
            .with_compression(packing);
        let mut image = encoder.new_image::<tc::RGB16>(9, 5).unwrap();
        image
            .extra_samples(&[ExtraSamples::AssociatedAlpha])
            .unwrap();
        let tags = image.encoder();
        tags.write_tag(Tag::ImageDescription, "a description")
            .unwrap();
        tags.write_tag(Tag::IccProfile, &b"not really a profile"[..])
            .unwrap();
        tags.write_tag(Tag::Orientation, 6_u16).unwrap();
        let data: Vec<u16> = (0..9 * 5 * 4).map(|i| (i * 321) as u16).collect();
        image.write_data(&data).unwrap();
        std::fs::write(&path, file.into_inner()).unwrap();
        let picture = survives(&path);
        assert_eq!(names(&picture.frame), ["color", "alpha"]);
        let facts = io::inspect(&path, &ReadOptions::default()).unwrap();
        let kept = &facts.parts[0].attributes;
        assert!(kept.contains(&"ICC profile".to_owned()), "{kept:?}");
        assert!(kept.contains(&"Orientation".to_owned()), "{kept:?}");
        assert_eq!(facts.parts[0].layers[0].channels[0].sample, "16 bit");
    }
}

#[test]
fn tiff_descriptions_of_the_layout_do_not_survive() {
    let texts = [
        ("a cat, by the window", true),
        ("{\"shape\": [7, 5, 9, 3]}", false),
        ("ImageJ=1.54f\nimages=7\nslices=7\n", false),
        (
            "<?xml version=\"1.0\"?><OME><Pixels SizeZ=\"7\"/></OME>",
            false,
        ),
    ];
    for (text, stays) in texts {
        let (_folder, path) = scratch("a.tif");
        let mut file = Cursor::new(Vec::new());
        let mut encoder = TiffEncoder::new(&mut file).unwrap();
        let mut image = encoder.new_image::<tc::Gray8>(9, 5).unwrap();
        let tags = image.encoder();
        tags.write_tag(Tag::ImageDescription, text).unwrap();
        image.write_data(&[7; 45]).unwrap();
        std::fs::write(&path, file.into_inner()).unwrap();
        let picture = read(&path);
        let again = path.with_file_name("b.tif");
        io::write(
            &again,
            &picture.frame,
            Some(&picture.origin),
            &WriteOptions::default(),
        )
        .unwrap();
        let bytes = std::fs::read(&again).unwrap();
        let there = bytes.windows(text.len()).any(|w| w == text.as_bytes());
        assert_eq!(there, stays, "{text}");
    }
}

#[test]
fn tiff_files_of_several_pages_are_refused() {
    let (_folder, path) = scratch("a.tif");
    let mut file = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut file).unwrap();
    encoder.write_image::<tc::Gray8>(2, 1, &[0, 255]).unwrap();
    encoder.write_image::<tc::Gray8>(3, 1, &[9, 8, 7]).unwrap();
    std::fs::write(&path, file.into_inner()).unwrap();
    let error = io::read(&path, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("several pages"), "{error}");
}

#[test]
fn light_becomes_display_values_and_back() {
    // Premultiplied light with half coverage.
    let mut frame = Frame::new(Image::from_fn(2, 1, 3, |x, _, _| 0.25 * x as f32)).unwrap();
    frame
        .insert(Kind::Alpha, Image::from_fn(2, 1, 1, |_, _, _| 0.5))
        .unwrap();
    let (_folder, exr) = scratch("a.exr");
    write(&exr, &frame, None);
    let picture = read(&exr);
    let png = exr.with_extension("png");
    let mut options = WriteOptions::default();
    options.bits = Some(Bits::Sixteen);
    io::write(&png, &picture.frame, Some(&picture.origin), &options).unwrap();
    let photo = read(&png);
    // Half covered, so the colour itself is 0.5.
    let value = photo.frame.color().unwrap().get(1, 0, 0);
    assert!((srgb_to_linear(value) - 0.5).abs() < 1e-4, "{value}");
    // And back: linear and premultiplied again.
    write(&exr, &photo.frame, Some(&photo.origin));
    let back = read(&exr).frame;
    assert!((back.color().unwrap().get(1, 0, 0) - 0.25).abs() < 1e-4);
    assert!((back.get(Kind::Alpha).unwrap().get(0, 0, 0) - 0.5).abs() < 1e-4);
    // Colour alone still gets the alpha of its origin.
    let color = Frame::new(photo.frame.color().unwrap().clone()).unwrap();
    write(&exr, &color, Some(&photo.origin));
    assert_eq!(read(&exr).frame, back);
}

#[test]
fn values_outside_the_range_are_clamped() {
    let image = Image::from_fn(4, 1, 1, |x, _, _| [-1.0, 5.0, f32::NAN, f32::INFINITY][x]);
    let back = round_trip(
        &Frame::new(image).unwrap(),
        "a.png",
        &WriteOptions::default(),
    );
    assert_eq!(back.frame.color().unwrap().data(), [0.0, 1.0, 0.0, 1.0]);
}

#[test]
fn layers_that_a_format_cannot_hold_are_told() {
    let (_folder, path) = scratch("a.jpg");
    let mut frame = Frame::new(Image::new(2, 2, 3)).unwrap();
    frame.insert(Kind::Normal, Image::new(2, 2, 3)).unwrap();
    frame.insert(Kind::Alpha, Image::new(2, 2, 1)).unwrap();
    let notes = write(&path, &frame, None).join("\n");
    assert!(
        notes.contains("normal") && notes.contains("alpha"),
        "{notes}"
    );
}

#[test]
fn jpeg_chroma_is_sampled_as_in_the_source() {
    let (_folder, path) = scratch("a.jpg");
    let grey = |x: usize, y: usize| 40 + (x + y) as u8;
    for (factor, name) in [
        (jpeg_encoder::SamplingFactor::F_2_2, "quality 90, 4:2:0"),
        (jpeg_encoder::SamplingFactor::F_1_1, "quality 90"),
    ] {
        let mut file = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut file, 90);
        encoder.set_sampling_factor(factor);
        let pixels: Vec<u8> = (0..40 * 100)
            .flat_map(|i| [grey(i % 40, i / 40); 3])
            .collect();
        let kind = jpeg_encoder::ColorType::Rgb;
        encoder.encode(&pixels, 40, 100, kind).unwrap();
        std::fs::write(&path, file).unwrap();
        let picture = read(&path);
        let out = path.with_file_name("b.jpg");
        write(&out, &picture.frame, Some(&picture.origin));
        let facts = io::inspect(&out, &ReadOptions::default()).unwrap();
        assert_eq!(facts.parts[0].compression, name);
        let back = read(&out).frame;
        let value = back.color().unwrap().get(20, 70, 1);
        assert!(
            (255.0 * value - f32::from(grey(20, 70))).abs() < 4.0,
            "{value}"
        );
    }
}

/// Where a filter leaves next to nothing of light and alpha, a file shows no colour; and without alpha, light is seen before black.
#[test]
fn clear_pixels_of_light_have_no_colour() {
    let color = Image::from_fn(16, 16, 3, |x, _, c| match x < 8 {
        true => [3e-6, 1e-7, 2e-6][c],
        false => 0.2,
    });
    let alpha = Image::from_fn(16, 16, 1, |x, _, _| if x < 8 { 1e-6 } else { 0.5 });
    let mut frame = Frame::new(color).unwrap();
    frame.insert(Kind::Alpha, alpha).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // Traces of light without alpha, as methods for photographs leave them.
    let mut traces = frame.clone();
    let glow = Image::from_fn(16, 16, 3, |x, _, _| if x < 8 { 0.002 } else { 0.2 });
    let none = Image::from_fn(16, 16, 1, |x, _, _| if x < 8 { 0.0 } else { 0.5 });
    traces.insert(Kind::Color, glow).unwrap();
    traces.insert(Kind::Alpha, none).unwrap();
    for name in ["b.png", "b.webp"] {
        let path = folder.path().join(name);
        io::write(&path, &traces, None, &WriteOptions::default()).unwrap();
        assert_eq!(
            read(&path).frame.color().unwrap().get(2, 8, 1),
            0.0,
            "{name}"
        );
    }
    for (name, half) in [("a.png", 0.4), ("a.webp", 0.4), ("a.jpg", 0.2)] {
        let path = folder.path().join(name);
        io::write(&path, &frame, None, &WriteOptions::default()).unwrap();
        let shown = read(&path).frame;
        let back = shown.color().unwrap().map(srgb_to_linear);
        for c in 0..3 {
            assert!(back.get(2, 8, c) < 0.01, "{name}: {}", back.get(2, 8, c));
            assert!((back.get(13, 8, c) - half).abs() < 0.01, "{name}");
        }
    }
}
