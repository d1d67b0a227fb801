//! `limpid compare` from the outside: files, refusals, the page.

use crate::{limpid, said, works};
use limpid::io::{self, Transfer, WriteOptions};
use limpid::{Frame, Image, Kind};
use std::path::Path;
use std::process::Output;

fn compare(folder: &Path, arguments: &str) -> Output {
    limpid(folder, &format!("compare {arguments}"))
}

fn write(folder: &Path, name: &str, width: usize, value: f32) {
    let image = Image::from_fn(
        width,
        8,
        3,
        |x, y, _| {
            if x == 3 && y == 2 { value } else { 0.5 }
        },
    );
    let frame = Frame::new(image).unwrap();
    io::write(folder.join(name), &frame, None, &WriteOptions::default()).unwrap();
}

#[test]
fn sizes_that_differ_name_both_files() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.exr", 8, 0.5);
    write(folder.path(), "r.exr", 9, 0.5);
    let got = compare(folder.path(), "a.exr --reference r.exr");
    assert_eq!(got.status.code(), Some(1));
    for word in ["a.exr", "8x8", "r.exr", "9x8"] {
        assert!(said(&got).contains(word), "{}", said(&got));
    }
}

#[test]
fn holes_are_counted_and_json_stays_json() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "hole.exr", 8, f32::NAN);
    write(folder.path(), "r.exr", 8, 0.5);
    let got = compare(folder.path(), "hole.exr r.exr --reference r.exr --json");
    assert!(said(&got).contains("hole.exr: 1 pixels are NaN"));
    let rows: serde_json::Value = serde_json::from_slice(&got.stdout).unwrap();
    assert_eq!(rows[0]["missing"], 1);
    assert!((rows[0]["mse"].as_f64().unwrap() - 0.25 / 64.0).abs() < 1e-9);
    // Equal images: an infinite ratio, which JSON cannot say.
    assert_eq!(rows[1]["mse"], 0.0);
    assert!(rows[1]["psnr"].is_null());
}

#[test]
fn the_page_is_whole_and_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.exr", 8, 4.0);
    write(folder.path(), "b.png", 8, 0.9);
    write(folder.path(), "r.exr", 8, 0.5);
    let got = compare(
        folder.path(),
        "a.exr b.png --reference r.exr --html page.html",
    );
    assert!(got.status.success(), "{}", said(&got));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert_eq!(page.matches("data:image/png;base64,").count(), 5);
    assert!(!page.contains("http"));
    let got = compare(folder.path(), "a.exr --reference r.exr --html no/page.html");
    assert_eq!(got.status.code(), Some(2));
    assert!(said(&got).contains("no/page.html"));
}

#[test]
fn files_of_another_sort_are_converted() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["x.exr", "x.png", "x.pfm", "x.hdr"] {
        write(folder.path(), name, 8, 0.25);
    }
    for reference in ["x.exr", "x.png"] {
        let arguments = format!("x.exr x.png x.pfm x.hdr --reference {reference} --json");
        let got = compare(folder.path(), &arguments);
        let rows: serde_json::Value = serde_json::from_slice(&got.stdout).unwrap();
        for row in rows.as_array().unwrap() {
            // Eight bits of PNG, eight of HDR.
            assert!(row["mse"].as_f64().unwrap() < 2e-5, "{row}");
            assert!(row["flip"].as_f64().unwrap() < 0.02, "{row}");
        }
    }
}

#[test]
fn wrong_usage_is_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.exr", 8, 0.5);
    for arguments in [
        "a.exr --json",
        "a.exr --reference a.exr --crop 8",
        "a.exr --reference a.exr --layer what",
    ] {
        let got = compare(folder.path(), arguments);
        assert_eq!(got.status.code(), Some(2), "{arguments}: {}", said(&got));
    }
    let got = compare(folder.path(), "a.exr --reference none.exr");
    assert_eq!(got.status.code(), Some(1));
    assert!(said(&got).contains("none.exr"));
}

/// Folders and wildcards stand for their images; the page of images elsewhere is written here.
#[test]
fn folders_and_wildcards_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    std::fs::create_dir(place.join("in")).unwrap();
    for name in ["in/a.exr", "in/b.exr", "r.exr"] {
        write(place, name, 8, 0.5);
    }
    for images in ["in", "in/*.exr"] {
        let got = compare(place, &format!("{images} --reference r.exr --json"));
        assert!(got.status.success(), "{}", said(&got));
        let rows: serde_json::Value = serde_json::from_slice(&got.stdout).unwrap();
        assert_eq!(rows.as_array().unwrap().len(), 2, "{images}");
        let got = limpid(place, &format!("view {images} -o view.html"));
        assert!(got.status.success(), "{}", said(&got));
        let page = std::fs::read_to_string(place.join("view.html")).unwrap();
        assert!(page.contains("b.exr"), "{images}");
    }
    let got = compare(place, "in/a.exr in/b.exr");
    assert!(got.status.success(), "{}", said(&got));
    assert!(place.join("b.html").exists() && !place.join("in/b.html").exists());
    let got = compare(place, "in/a.exr --reference r.exr --html page.html");
    assert_eq!(said(&got), "page written to page.html\n");
    let got = compare(place, "in/a.exr --reference r.exr --html page.html -q");
    assert_eq!(said(&got), "");
}

#[test]
fn sequences_need_a_reference() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["s.0001.exr", "s.0002.exr", "r.exr"] {
        write(folder.path(), name, 8, 0.5);
    }
    for (line, words) in [
        (
            "s.####.exr",
            "limpid: s.####.exr: sequences and films are compared with a --reference",
        ),
        (
            "s.####.exr --reference r.exr",
            "limpid: s.####.exr: a sequence is compared with a sequence",
        ),
    ] {
        let got = compare(folder.path(), line);
        assert_eq!(got.status.code(), Some(2), "{}", said(&got));
        assert!(said(&got).starts_with(words), "{}", said(&got));
        assert_eq!(said(&got).lines().count(), 1, "{}", said(&got));
    }
    let got = limpid(folder.path(), "view s.####.exr -o view.html");
    assert!(got.status.success(), "{}", said(&got));
}

#[test]
fn without_a_reference_there_is_a_page() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "before.exr", 8, 0.9);
    write(folder.path(), "after.exr", 8, 0.5);
    let got = compare(folder.path(), "before.exr after.exr");
    assert_eq!(got.status.code(), Some(0), "{}", said(&got));
    let told = String::from_utf8_lossy(&got.stdout).into_owned();
    assert!(told.contains("after.html"), "{told}");
    let page = std::fs::read_to_string(folder.path().join("after.html")).unwrap();
    for name in ["before.exr", "after.exr"] {
        assert!(page.contains(name), "{name}");
    }
    // A name that was not given overwrites nothing.
    let again = compare(folder.path(), "before.exr after.exr");
    assert_eq!(again.status.code(), Some(1));
    assert!(said(&again).contains("--html"), "{}", said(&again));
    let json = compare(folder.path(), "before.exr --json");
    assert_eq!(json.status.code(), Some(2), "{}", said(&json));
}

/// Transparent pixels are seen in front of a checkerboard, whatever colour is stored there.
#[test]
fn the_page_shows_a_board_behind_transparent_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, hidden: f32, alpha: f32| {
        let color = Image::from_fn(32, 32, 3, |x, _, _| if x < 16 { hidden } else { 0.5 });
        let mut frame = Frame::new(color).unwrap();
        let alpha = Image::from_fn(32, 32, 1, |x, _, _| if x < 16 { alpha } else { 1.0 });
        frame.insert(Kind::Alpha, alpha).unwrap();
        let mut options = WriteOptions::default();
        options.transfer = Some(Transfer::Encoded);
        io::write(folder.path().join(name), &frame, None, &options).unwrap();
    };
    let page = |name: &str| {
        works(folder.path(), &format!("compare {name} --html page.html"));
        let text = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
        text.replace(name, "")
    };
    write("a.png", 0.9, 0.0);
    write("b.png", 0.1, 0.0);
    write("c.png", 0.9, 1.0);
    let clear = page("a.png");
    assert!(clear == page("b.png"), "what is clear has no colour");
    assert!(clear != page("c.png"));
}

/// One command denoises a file by several methods and compares them.
#[test]
fn methods_are_compared_in_one_command() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    works(place, "render cornell --size 48x32 --spp 4 -o noisy.exr");
    works(
        place,
        "render cornell --size 48x32 --spp 64 --seed 1 -o r.exr",
    );
    let line = "compare noisy.exr --reference r.exr --methods atrous,auto,svgf --device cpu --html page.html";
    let table = works(place, line);
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].ends_with("seconds"), "{table}");
    for (row, name) in
        rows[1..]
            .iter()
            .zip(["noisy.exr ", "noisy.exr by atrous", "noisy.exr by auto"])
    {
        assert!(row.starts_with(name), "{table}");
    }
    let page = std::fs::read_to_string(place.join("page.html")).unwrap();
    assert!(page.contains("noisy.exr by atrous") && page.contains("seconds"));
    let json = works(place, &format!("{line} --json"));
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(rows[0]["seconds"].is_null() && rows[1]["seconds"].as_f64().unwrap() > 0.0);
    let error = |i: usize| rows[i]["relmse"].as_f64().unwrap();
    assert!(
        error(1) < 0.5 * error(0) && error(2) < 0.5 * error(0),
        "{json}"
    );
    let wrong = compare(place, "noisy.exr --reference r.exr --methods atros");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).contains("'atrous'"), "{}", said(&wrong));
}
