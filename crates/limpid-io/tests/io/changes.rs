//! From one format to another, and files with damage inside.

use crate::*;
use std::io::Cursor;
use tiff::encoder::TiffEncoder;
use tiff::encoder::colortype as tc;
use tiff::tags::Tag;

/// The colour profile and the way to turn a picture survive a change of format, and so do 16 bits.
#[test]
fn what_belongs_to_the_picture_survives_a_change_of_format() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let profile: Vec<u8> = (0..70_000_u32).map(|i| (i % 251) as u8).collect();
    // A TIFF file that lies on its side.
    let mut file = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut file).unwrap();
    let mut image = encoder.new_image::<tc::RGB16>(3, 2).unwrap();
    let tags = image.encoder();
    tags.write_tag(Tag::Orientation, 6_u16).unwrap();
    let icc = Tag::from_u16_exhaustive(34675);
    tags.write_tag(icc, profile.as_slice()).unwrap();
    let pixels: Vec<u16> = (0..18).map(|i| 257 * (i * 14)).collect();
    image.write_data(&pixels).unwrap();
    std::fs::write(place("0.tif"), file.into_inner()).unwrap();
    // From each format to each other.
    for next in [
        "1.png", "2.jpg", "3.webp", "4.png", "5.webp", "6.jpg", "7.tif",
    ] {
        let mut name = "0.tif";
        for then in [next, "8.jpg", "9.tif", "10.png", "11.tif"] {
            let picture = read(&place(name));
            write(&place(then), &picture.frame, Some(&picture.origin));
            name = then;
        }
        let last = read(&place(name));
        let back = place("12.tif");
        write(&back, &last.frame, Some(&last.origin));
        let file = std::fs::File::open(back).unwrap();
        let mut decoder = tiff::decoder::Decoder::new(file).unwrap();
        let turn = decoder.get_tag_u32(Tag::Orientation).unwrap();
        assert_eq!(turn, 6, "{next}");
        assert!(decoder.get_tag_u8_vec(icc).unwrap() == profile, "{next}");
    }
    // EXIF data stays whole where the format has it.
    let jpeg = read(&place("8.jpg"));
    write(&place("a.png"), &jpeg.frame, Some(&jpeg.origin));
    let facts = |name: &str| io::inspect(place(name), &ReadOptions::default()).unwrap();
    let told = format!("{:?}", facts("a.png").parts[0].attributes);
    assert!(told.contains("eXIf") && told.contains("iCCP"), "{told}");
    assert_eq!(
        facts("a.png").parts[0].layers[0].channels[0].sample,
        "8 bit"
    );
    let told = facts("1.png").parts[0].layers[0].channels[0].sample.clone();
    assert_eq!(told, "16 bit");
    // A format that cannot say it, says so.
    let notes = write(&place("a.exr"), &jpeg.frame, Some(&jpeg.origin));
    assert!(notes.join(" ").contains("turned"), "{notes:?}");
}

/// What can be had of a JPEG file with damage inside is read, and the damage is told; a sound one has no notes.
#[test]
fn damage_inside_a_jpeg_file_is_told() {
    let (_folder, path) = scratch("a.jpg");
    let mut file = Vec::new();
    let encoder = jpeg_encoder::Encoder::new(&mut file, 90);
    let value = |i: u32| (i.wrapping_mul(i) / 7 % 251) as u8;
    let pixels: Vec<u8> = (0..3 * 200 * 160).map(value).collect();
    let kind = jpeg_encoder::ColorType::Rgb;
    encoder.encode(&pixels, 200, 160, kind).unwrap();
    std::fs::write(&path, &file).unwrap();
    assert_eq!(read(&path).notes, Vec::<String>::new());
    // Ones in the middle of the pixels, which no code begins with.
    let middle = file.len() / 2;
    file[middle..middle + 600]
        .as_chunks_mut::<2>()
        .0
        .fill([0xff, 0]);
    std::fs::write(&path, &file).unwrap();
    let notes = read(&path).notes.join(" ");
    assert!(
        notes.contains("part of the picture may be wrong"),
        "{notes}"
    );
}
