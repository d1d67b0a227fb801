//! Files that would silently lose data are rejected with a message that says what to do.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use limpid_io::{self as io, ReadOptions};

/// A TIFF file of grey 2×2 images, each with additional tags, given as number and value.
fn tiff(pages: &[&[(u16, u32)]]) -> Vec<u8> {
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    for (i, more) in pages.iter().enumerate() {
        let count = 7 + more.len();
        let pixels = bytes.len() + 2 + 12 * count + 4;
        let mut tags = vec![
            (256, 2),
            (257, 2),
            (258, 8),
            (259, 1),
            (262, 1),
            (273, pixels as u32),
            (279, 4),
        ];
        tags.extend(*more);
        tags.sort_unstable();
        bytes.extend((count as u16).to_le_bytes());
        for (tag, value) in tags {
            bytes.extend(u16::to_le_bytes(tag));
            bytes.extend(4u16.to_le_bytes());
            bytes.extend(1u32.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
        let next = if i + 1 < pages.len() { pixels + 4 } else { 0 };
        bytes.extend((next as u32).to_le_bytes());
        bytes.extend([10, 20, 30, 40]);
    }
    bytes
}

fn read(name: &str, bytes: &[u8]) -> Result<io::Picture, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    io::read(&path, &ReadOptions::default()).map_err(|e| e.to_string())
}

#[test]
fn raw_files_are_not_read_as_their_preview() {
    let plain = tiff(&[&[]]);
    assert!(read("a.tif", &plain).is_ok());
    for (name, bytes) in [("a.NEF", plain), ("a.tif", tiff(&[&[(33422, 1)]]))] {
        let said = read(name, &bytes).unwrap_err();
        assert!(
            said.contains("raw file") && said.contains("darktable"),
            "{said}"
        );
    }
}

#[test]
fn pages_are_not_dropped_silently() {
    let said = read("a.tif", &tiff(&[&[], &[]])).unwrap_err();
    assert!(said.contains("several pages"), "{said}");
    // A smaller copy may be dropped, with a note.
    let picture = read("a.tif", &tiff(&[&[], &[(254, 1)]])).unwrap();
    assert_eq!(picture.notes.len(), 1, "{:?}", picture.notes);
}
