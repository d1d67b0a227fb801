//! Invalid input and output paths: missing, empty and wrongly named files, folders, places without write permission.

use crate::*;
use limpid_io::Format;

fn refused(path: &Path) -> String {
    let error = io::read(path, &ReadOptions::default()).unwrap_err();
    let text = error.to_string();
    let name = path.file_name().unwrap().display().to_string();
    assert!(text.contains(&name), "says which file: {text}");
    text
}

#[test]
fn missing_empty_and_foreign_files() {
    let (folder, path) = scratch("a.exr");
    assert!(matches!(
        io::read(&path, &ReadOptions::default()),
        Err(Error::Io { .. })
    ));
    std::fs::write(&path, []).unwrap();
    assert!(refused(&path).contains("empty"));
    std::fs::write(&path, "hello").unwrap();
    assert!(refused(&path).contains("the content is neither OpenEXR"));
    let text = folder.path().join("a.txt");
    std::fs::write(&text, "hello").unwrap();
    assert!(refused(&text).contains("supported are OpenEXR, PNG"));
    assert!(refused(folder.path()).contains("folder"));
}

#[test]
fn a_wrong_extension_is_read_by_content_and_told() {
    let (_folder, path) = scratch("a.exr");
    let frame = Frame::new(Image::from_fn(3, 2, 3, |x, y, c| (x + y + c) as f32)).unwrap();
    write(&path, &frame, None);
    let wrong = path.with_extension("png");
    std::fs::rename(&path, &wrong).unwrap();
    let picture = read(&wrong);
    assert_eq!(picture.frame, frame);
    assert!(
        picture.notes[0].contains("extension"),
        "{:?}",
        picture.notes
    );
    assert_eq!(picture.origin.format(), Format::Exr);
    // A missing extension is accepted.
    let bare = path.with_extension("");
    std::fs::rename(&wrong, &bare).unwrap();
    assert!(read(&bare).notes.is_empty());
}

#[test]
fn places_that_cannot_be_written() {
    let (folder, path) = scratch("missing/a.exr");
    let frame = Frame::new(Image::new(2, 2, 3)).unwrap();
    let refused = |path: &Path| {
        let error = io::write(path, &frame, None, &WriteOptions::default()).unwrap_err();
        error.to_string()
    };
    assert!(refused(&path).contains("does not exist"));
    assert!(refused(&folder.path().join("a.gif")).contains("gif"));
    assert!(refused(&folder.path().join("a")).contains("extension"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let empty = Frame::empty(limpid_core::Size::new(2, 2)).unwrap();
    for name in ["a.exr", "a.png"] {
        let path = folder.path().join(name);
        assert!(io::write(&path, &empty, None, &WriteOptions::default()).is_err());
        assert!(!path.exists());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing_and_says_so() {
    // A link with an image's name to a device that is always full.
    let (folder, path) = scratch("a.exr");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let frame = Frame::new(Image::new(2, 2, 3)).unwrap();
    let error = io::write(&path, &frame, None, &WriteOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn layers_are_named_in_exr_files_only() {
    let (_folder, path) = scratch("a.png");
    write(&path, &Frame::new(Image::new(2, 2, 3)).unwrap(), None);
    let options = ReadOptions::default().layer("normal=N").unwrap();
    let error = io::read(&path, &options).unwrap_err().to_string();
    assert!(error.contains("EXR"), "{error}");
}

#[test]
fn the_limit_holds_for_every_format() {
    for format in Format::ALL.iter().copied() {
        let (_folder, path) = scratch(&format!("a.{}", format.extensions()[0]));
        write(&path, &Frame::new(Image::new(64, 64, 3)).unwrap(), None);
        let mut options = ReadOptions::default();
        options.limit = 1000;
        let error = io::read(&path, &options).unwrap_err().to_string();
        assert!(error.contains("limit"), "{format}: {error}");
    }
}
