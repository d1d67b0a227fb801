//! OpenEXR files that the OpenEXR library 3.5 wrote: HTJ2K, and luminance and chroma.
//!
//! The files of `tests/files` were written by `OpenEXR` of PyPI: the same six channels with each compression, with NaN, infinity, negative
//! zero and the largest numbers among their samples.

use crate::*;
use exr::prelude::FlatImage;

fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/files/{name}.exr"))
}

/// A file written again with another compression, as the `exr` crate reads it.
fn recoded(path: &Path, compression: io::Compression) -> FlatImage {
    let (_folder, out) = scratch("out.exr");
    let picture = read(path);
    let mut options = WriteOptions::default();
    options.compression = Some(compression);
    io::write(&out, &picture.frame, Some(&picture.origin), &options).unwrap();
    raw(&out)
}

/// Whether all samples have the same bits.
fn same(a: &FlatImage, b: &FlatImage) -> bool {
    a.layer_data.len() == b.layer_data.len()
        && a.layer_data.iter().zip(&b.layer_data).all(|(a, b)| {
            let (a, b) = (&a.channel_data.list, &b.channel_data.list);
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| a.name == b.name && bits(a) == bits(b))
        })
}

fn bits(channel: &AnyChannel<FlatSamples>) -> Vec<u32> {
    match &channel.sample_data {
        FlatSamples::F16(v) => v.iter().map(|v| v.to_bits().into()).collect(),
        FlatSamples::F32(v) => v.iter().map(|v| v.to_bits()).collect(),
        FlatSamples::U32(v) => v.clone(),
    }
}

#[test]
fn files_of_the_library_have_the_samples_that_its_other_files_have() {
    let expected = raw(&stored("zips"));
    assert_eq!(expected.layer_data[0].channel_data.list.len(), 6);
    for name in ["htj2k256", "htj2k32", "htj2k-tiles"] {
        let found = recoded(&stored(name), io::Compression::Zip);
        assert!(same(&found, &expected), "{name}");
    }
    assert!(!same(
        &raw(&stored("zips")),
        &recoded(&stored("chroma-zips"), io::Compression::Zip)
    ));
}

#[test]
fn the_compression_has_its_name() {
    for name in ["htj2k256", "htj2k32"] {
        let facts = io::inspect(stored(name), &ReadOptions::default()).unwrap();
        assert_eq!(facts.parts[0].compression, name);
    }
}

#[test]
fn a_file_that_was_changed_keeps_its_compression_and_other_channels() {
    for name in ["htj2k256", "htj2k32", "htj2k-tiles"] {
        let (_folder, out) = scratch("out.exr");
        let mut picture = read(&stored(name));
        let color = Image::from_fn(13, 37, 3, |x, y, c| (x * y + c) as f32 / 64.0);
        picture.frame.insert(Kind::Color, color.clone()).unwrap();
        write(&out, &picture.frame, Some(&picture.origin));
        let facts = |path: &Path| io::inspect(path, &ReadOptions::default()).unwrap();
        let compression = |path: &Path| facts(path).parts[0].compression.clone();
        assert_eq!(compression(&out), compression(&stored(name)));
        let back = read(&out);
        assert_eq!(back.frame.get(Kind::Color), Some(&color));
        let other = |picture: &io::Picture| {
            let found = recoded_channels(picture);
            found
                .into_iter()
                .filter(|(n, _)| !["R", "G", "B"].contains(&n.as_str()))
                .collect::<Vec<_>>()
        };
        assert_eq!(other(&back), other(&read(&stored(name))), "{name}");
    }
}

/// All channels of a picture by name, with the bits of their samples.
fn recoded_channels(picture: &io::Picture) -> Vec<(String, Vec<u32>)> {
    let (_folder, out) = scratch("out.exr");
    let mut options = WriteOptions::default();
    options.compression = Some(io::Compression::None);
    io::write(&out, &picture.frame, Some(&picture.origin), &options).unwrap();
    let image = raw(&out);
    let list = &image.layer_data[0].channel_data.list;
    list.iter().map(|c| (c.name.to_string(), bits(c))).collect()
}

#[test]
fn new_files_read_back_exactly() {
    for (width, height) in [(1, 1), (1, 40), (37, 19), (70, 300)] {
        let (_folder, path) = scratch("a.exr");
        let frame = full_frame(width, height);
        let mut options = WriteOptions::default();
        options.compression = Some(io::Compression::Htj2k);
        io::write(&path, &frame, None, &options).unwrap();
        assert_eq!(read(&path).frame, frame);
    }
}

/// Smooth pictures are smaller than with PIZ and ZIP.
#[test]
fn smooth_pictures_are_small() {
    let image = Image::from_fn(200, 150, 3, |x, y, c| {
        2.0 + (x as f32 / 31.0).sin() * (y as f32 / 17.0).cos() + c as f32 * 0.1
    });
    let frame = Frame::new(image).unwrap();
    let size = |compression| {
        let (_folder, path) = scratch("a.exr");
        let mut options = WriteOptions::default();
        options.compression = Some(compression);
        options.sample = Some(io::Sample::Half);
        io::write(&path, &frame, None, &options).unwrap();
        std::fs::metadata(&path).unwrap().len()
    };
    let [htj2k, piz, zip] = [
        io::Compression::Htj2k,
        io::Compression::Piz,
        io::Compression::Zip,
    ]
    .map(size);
    assert!(htj2k < piz && htj2k < zip, "{htj2k} {piz} {zip}");
}

/// Half the resolution for chroma: the picture that was stored, up to the rounding of half floats and what is lost with the samples. The
/// expected colours are those of the formula that made the file.
#[test]
fn luminance_and_chroma_become_colour() {
    let formula = |x: usize, y: usize, c: usize| {
        let (x, y) = (x as f32, y as f32);
        match c {
            0 => 0.5 + 0.4 * (x / 19.0).sin() * (y / 13.0).cos(),
            1 => 0.5 + 0.3 * (x / 23.0 + y / 17.0).cos(),
            _ => 0.4 + 0.3 * (y / 21.0).sin(),
        }
    };
    for (name, bound) in [
        ("chroma-htj2k32", 0.002),
        ("chroma-piz", 0.002),
        ("chroma-zips", 0.002),
        ("chroma-b44", 0.05),
    ] {
        let picture = read(&stored(name));
        assert!(
            picture.notes[0].contains("luminance and chroma"),
            "{:?}",
            picture.notes
        );
        let color = picture.frame.get(Kind::Color).unwrap();
        assert_eq!(
            (color.width(), color.height(), color.channels()),
            (24, 34, 3)
        );
        for c in 0..3 {
            // At the borders the interpolation knows one side only.
            for (x, y) in (0..34).flat_map(|y| (0..24).map(move |x| (x, y))) {
                let inside = (10..14).contains(&x) && (10..24).contains(&y);
                let error = (color.get(x, y, c) - formula(x, y, c)).abs();
                let bound = if inside { bound } else { 0.08 };
                assert!(error < bound, "{name} {x},{y},{c}: {error}");
            }
        }
        // Written as red, green and blue, which everything reads.
        let (_folder, out) = scratch("out.exr");
        write(&out, &picture.frame, Some(&picture.origin));
        let list = io::inspect(&out, &ReadOptions::default()).unwrap();
        let channels = &list.parts[0].layers[0].channels;
        let names: Vec<&str> = channels.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["R", "G", "B"], "{name}");
    }
}

/// Three compressions without loss hold the same picture.
#[test]
fn chroma_does_not_depend_on_the_compression() {
    let [a, b, c] = ["chroma-htj2k32", "chroma-piz", "chroma-zips"].map(|n| read(&stored(n)).frame);
    assert!(a == b && b == c);
}
