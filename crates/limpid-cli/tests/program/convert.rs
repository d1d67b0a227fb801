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

/// Deep images of the OpenEXR library: refused by name, flattened on request, written with the compression that is asked for.
#[test]
fn deep_images_are_flattened_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../limpid-io/tests/files");
    for name in ["deep-lines", "deep-tiles"] {
        let deep = files.join(format!("{name}.exr"));
        std::fs::copy(&deep, here.join("deep.exr")).unwrap();
        for command in ["convert", "denoise"] {
            let refused = limpid(here, &format!("{command} deep.exr -o flat.exr"));
            assert!(!refused.status.success());
            assert!(
                said(&refused).contains("only with the option 'flatten'"),
                "{}",
                said(&refused)
            );
        }
        works(here, "denoise deep.exr -o clean.exr --flatten --device cpu");
        works(
            here,
            "convert deep.exr -o flat.exr --flatten --compression dwaa",
        );
        let told = |name: &str| {
            let got = limpid(here, &format!("info {name}"));
            String::from_utf8_lossy(&got.stdout).into_owned() + &said(&got)
        };
        assert!(
            told("flat.exr").to_lowercase().contains("dwaa"),
            "{}",
            told("flat.exr")
        );
        assert!(
            told("deep.exr").contains("'flatten'"),
            "{}",
            told("deep.exr")
        );
    }
    let wrong = limpid(
        here,
        "convert deep.exr -o flat.exr --flatten --compression jpeg",
    );
    assert_eq!(wrong.status.code(), Some(2));
    for name in ["none", "rle", "zips", "piz", "htj2k32"] {
        assert!(said(&wrong).contains(name), "{}", said(&wrong));
    }
}

/// A stack comes out as a stack, denoised or converted; what holds one page is refused.
#[test]
fn stacks_are_done_page_by_page() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let page = |value: f32| {
        Frame::new(Image::from_fn(24, 16, 1, |x, y, _| {
            value + ((x * y) % 5) as f32 / 100.0
        }))
        .unwrap()
    };
    let mut options = WriteOptions::default();
    options.bits = Some(io::Bits::Sixteen);
    options.transfer = Some(io::Transfer::Encoded);
    let mut writer = io::PageWriter::default();
    for value in [0.1, 0.4, 0.7] {
        writer.push(&page(value), None, &options).unwrap();
    }
    writer.write(here.join("stack.tif")).unwrap();
    works(here, "denoise stack.tif -o clean.tif --device cpu");
    works(here, "convert stack.tif -o copy.tif");
    for name in ["clean.tif", "copy.tif"] {
        let mut pages = io::Pages::open(here.join(name), &ReadOptions::default())
            .unwrap()
            .unwrap();
        assert_eq!(pages.count(), 3);
        for (i, value) in [0.1, 0.4, 0.7].into_iter().enumerate() {
            let frame = pages.read(i, &ReadOptions::default()).unwrap().frame;
            let mean = frame.color().unwrap().data().iter().sum::<f32>() / (24.0 * 16.0);
            assert!((mean - value - 0.02).abs() < 0.01, "{name}, {i}: {mean}");
        }
    }
    for command in [
        "denoise stack.tif -o clean.png",
        "convert stack.tif -o copy.png",
    ] {
        let refused = limpid(here, command);
        assert!(!refused.status.success());
        assert!(
            said(&refused).contains("choose a name in .tif"),
            "{}",
            said(&refused)
        );
    }
}
