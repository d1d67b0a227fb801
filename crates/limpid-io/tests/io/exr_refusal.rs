//! EXR files: which files are rejected, and with which messages.

use crate::*;

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
        text.contains("color is missing") && text.contains("N (X,Y,Z)"),
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
fn truncated_files_are_told_as_such() {
    let (_folder, path) = scratch("a.exr");
    write(&path, &full_frame(16, 33), None);
    let bytes = std::fs::read(&path).unwrap();
    for length in [6, 40, 300, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let error = io::read(&path, &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Damaged(_)), "{error:?}");
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
