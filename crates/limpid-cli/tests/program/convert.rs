//! Formats and views.

use crate::{limpid, said, works};
use limpid::io::{self, ReadOptions, WriteOptions};
use limpid::{Frame, Image};
use std::path::Path;

/// Grey light of 0, 0.18, 1 and 4.
fn light(path: &Path) {
    let values = [0.0, 0.18, 1.0, 4.0];
    let image = Image::from_fn(4, 2, 3, |x, _, _| values[x]);
    let frame = Frame::new(image).unwrap();
    io::write(path, &frame, None, &WriteOptions::default()).unwrap();
}

fn row(path: &Path) -> Vec<f32> {
    let picture = io::read(path, &ReadOptions::default()).unwrap();
    picture.frame.color().unwrap().row(1, 0).to_vec()
}

#[test]
fn light_is_shown_through_a_view() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    light(&here.join("a.exr"));
    for (options, wanted) in [
        ("", [0.0, 0.461, 1.0, 1.0]),
        ("--exposure -2", [0.0, 0.234, 0.537, 1.0]),
        ("--view none", [0.0, 0.18, 1.0, 1.0]),
        // What Blender 5.0 shows.
        ("--view agx", [0.0, 0.461, 0.771, 0.914]),
        ("--view filmic", [0.0, 0.5, 0.807, 0.949]),
        ("--view filmic --exposure 2", [0.0, 0.757, 0.949, 1.0]),
    ] {
        let line = format!("convert a.exr -o a.png {options}");
        works(here, line.trim());
        let shown = row(&here.join("a.png"));
        for (v, w) in shown.iter().zip(wanted) {
            assert!((v - w).abs() < 0.008, "{options}: {shown:?} {wanted:?}");
        }
        // The same for results of renders.
        let options = options.replace("--exposure", "--view-exposure");
        let line =
            format!("denoise a.exr -o b.png --strength 0 --method atrous --device cpu {options}");
        works(here, line.trim());
        assert_eq!(shown, row(&here.join("b.png")), "{options}");
    }
    // Through display values and back, and from linear to linear, nothing changes.
    works(here, "convert a.exr -o b.pfm");
    assert_eq!(row(&here.join("a.exr")), row(&here.join("b.pfm")));
    for (line, part) in [
        (
            "convert a.exr -o c.exr --view agx",
            "c.exr: stores light itself",
        ),
        (
            "convert a.exr -o c.png --view log",
            "expected srgb, agx, filmic or none",
        ),
        (
            "denoise a.exr -o c.exr --view agx --device cpu",
            "--view and --view-exposure are for PNG",
        ),
    ] {
        let out = limpid(here, line);
        assert_eq!(out.status.code(), Some(2), "{line}: {}", said(&out));
        assert!(said(&out).contains(part), "{line}: {}", said(&out));
    }
}
