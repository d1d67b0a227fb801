//! The page of `limpid compare --html` and `limpid view` in a headless browser: slider, zoom, exposure, keys, small screens.
//!
//! Needs Chromium or Chrome: `cargo xtask browser` installs it on Debian and Ubuntu, `LIMPID_BROWSER` names another one,
//! and `none` leaves these tests out.

use crate::browser::{self, Browser};
use crate::works;
use limpid::io::{self, WriteOptions};
use limpid::{Frame, Image, Kind};
use std::path::Path;

const SIZE: (usize, usize) = (120, 80);

/// Linear light: dark on the left, bright on the right, with an offset.
fn write(path: &Path, offset: f32) {
    let image = Image::from_fn(SIZE.0, SIZE.1, 3, |x, _, _| {
        offset + if x < SIZE.0 / 2 { 0.05 } else { 0.2 }
    });
    let frame = Frame::new(image).unwrap();
    io::write(path, &frame, None, &WriteOptions::default()).unwrap();
}

/// A folder with a page that compares two images with a reference.
fn page() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, offset) in [("far.exr", 0.2), ("near.exr", 0.01), ("reference.exr", 0.0)] {
        write(&folder.path().join(name), offset);
    }
    let times =
        "{\"output\":\"far.exr\",\"seconds\":0.5}\n{\"output\":\"near.exr\",\"seconds\":2}\n";
    std::fs::write(folder.path().join("times.jsonl"), times).unwrap();
    works(
        folder.path(),
        "compare far.exr near.exr --reference reference.exr --html page.html --times times.jsonl",
    );
    folder
}

/// What a screen shows of linear light.
fn shown(light: f64) -> f64 {
    255.0 * (1.055 * light.powf(1.0 / 2.4) - 0.055)
}

/// A pixel of the first canvas, at a share of its width and height.
fn pixel(browser: &mut Browser, x: f64, y: f64) -> Vec<f64> {
    let script = format!(
        "(() => {{ const c = document.querySelector('#a'); return [...c.getContext('2d').getImageData({x} * c.width, {y} * c.height, 1, 1).data] }})()"
    );
    let value = browser.value(&script);
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

#[test]
fn slider_zoom_and_exposure_work() {
    if browser::left_out() {
        return;
    }
    let folder = page();
    let mut browser = Browser::open(&folder.path().join("page.html"), (1200, 900));
    assert_eq!(browser.state("a"), "far.exr");
    assert_eq!(browser.state("b"), "reference.exr");

    // The bar follows the pointer.
    let stage = browser.place("#stage");
    let bar = browser.place("#bar");
    browser.drag(
        (bar.x + bar.width / 2.0, bar.y + 100.0),
        (stage.x + 0.25 * stage.width, bar.y + 100.0),
    );
    let cut: f64 = browser.state("cut").parse().unwrap();
    assert!((cut - 0.25).abs() < 0.01, "{cut}");

    // Exposure: one stop doubles the light. The left half of the image holds 0.25.
    let before = pixel(&mut browser, 0.3, 0.5);
    assert!((before[0] - shown(0.25)).abs() < 4.0, "{before:?}");
    browser.key("]");
    browser.key("]");
    assert_eq!(browser.state("exposure"), "1");
    let after = pixel(&mut browser, 0.3, 0.5);
    assert!((after[0] - shown(0.5)).abs() < 4.0, "{after:?}");
    browser.value("(() => { const e = document.querySelector('#exposure'); e.value = 0; e.dispatchEvent(new Event('input')) })()");
    browser.frame();
    assert_eq!(browser.state("exposure"), "0");

    // The wheel zooms, and what is under the pointer stays there; dragging moves both images.
    let at = (stage.x + 0.6 * stage.width, stage.y + 0.4 * stage.height);
    browser.move_to(at);
    let under = browser.text("#pixel");
    let zoom: f64 = browser.state("zoom").parse().unwrap();
    browser.wheel(at, -400.0);
    let closer: f64 = browser.state("zoom").parse().unwrap();
    assert!(closer > 1.5 * zoom, "{zoom} {closer}");
    browser.move_to(at);
    assert_eq!(browser.text("#pixel"), under);
    let x: f64 = browser.state("x").parse().unwrap();
    browser.drag(at, (at.0 - 60.0, at.1));
    let moved: f64 = browser.state("x").parse().unwrap();
    let expected = 60.0 / closer / SIZE.0 as f64;
    assert!(
        (moved - x - expected).abs() < 0.002,
        "{x} {moved} {expected}"
    );
    browser.key("p");
    assert_eq!(browser.state("mode"), "side by side");
    let same = "(() => { const [a, b] = ['#a', '#b'].map(i => document.querySelector(i)); \
                const edge = c => { const d = c.getContext('2d').getImageData(0, c.height / 2 | 0, c.width, 1).data; \
                for (let i = 1; i < c.width; i++) if (Math.abs(d[4 * i] - d[4 * i - 4]) > 20 && d[4 * i + 3] && d[4 * i - 1]) return i; return -1 }; \
                return [edge(a), edge(b)] })()";
    let edges = browser.value(same);
    assert_eq!(edges[0], edges[1]);
    assert!(edges[0].as_i64().unwrap() > 0);
    browser.key("0");
    assert_eq!(browser.state("x"), "0.5000");
    assert_eq!(browser.faults(), Vec::<String>::new());
}

#[test]
fn any_two_images_and_every_view_by_keyboard() {
    if browser::left_out() {
        return;
    }
    let folder = page();
    let mut browser = Browser::open(&folder.path().join("page.html"), (1200, 900));
    browser.key("2");
    assert_eq!(browser.state("a"), "near.exr");
    browser.shift("1");
    assert_eq!(browser.state("b"), "far.exr");
    browser.key("x");
    assert_eq!(
        (browser.state("a").as_str(), browser.state("b").as_str()),
        ("far.exr", "near.exr")
    );
    browser.key("ArrowRight");
    assert_eq!(browser.state("a"), "near.exr");
    // An image and itself differ nowhere: the darkest colour of the scale.
    browser.key("d");
    assert_eq!(browser.state("mode"), "difference");
    assert_eq!(pixel(&mut browser, 0.5, 0.5)[..3], [0.0, 0.0, 4.0]);
    browser.key("ArrowDown");
    assert_eq!(browser.state("b"), "reference.exr");
    assert_ne!(pixel(&mut browser, 0.5, 0.5)[..3], [0.0, 0.0, 4.0]);
    browser.key("s");
    browser.key("c");
    assert_eq!(browser.state("show"), "false colour");
    let [r, _, b] = pixel(&mut browser, 0.4, 0.5)[..3] else {
        panic!("no pixel")
    };
    assert!((r - b).abs() > 10.0, "grey is coloured: {r} {b}");
    browser.key(" ");
    assert_eq!(browser.state("mode"), "flip");

    // The table: sorted by a click, the best marked, with times.
    let rows = "[...document.querySelectorAll('tbody tr')].map(r => r.firstChild.textContent)";
    let click = |name: &str| {
        format!(
            "[...document.querySelectorAll('th button')].find(b => b.textContent.startsWith('{name}')).click()"
        )
    };
    browser.value(&click("PSNR"));
    assert_eq!(
        browser.value(rows),
        serde_json::json!(["near.exr", "far.exr"])
    );
    browser.value(&click("seconds"));
    assert_eq!(
        browser.value(rows),
        serde_json::json!(["far.exr", "near.exr"])
    );
    assert_eq!(
        browser.value("document.querySelectorAll('tbody tr .best').length"),
        7
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.card').length"),
        3
    );
    assert_eq!(browser.faults(), Vec::<String>::new());
}

#[test]
fn small_screens_show_everything() {
    if browser::left_out() {
        return;
    }
    let folder = page();
    let mut browser = Browser::open(&folder.path().join("page.html"), (420, 800));
    let width = browser.value("document.documentElement.scrollWidth");
    assert!(width.as_i64().unwrap() <= 420, "{width}");
    let stage = browser.place("#stage");
    assert!(stage.width > 350.0 && stage.height > 400.0);
    browser.value("document.querySelector('#stage').scrollIntoView()");
    let bar = browser.place("#bar");
    let stage = browser.place("#stage");
    browser.drag(
        (bar.x + bar.width / 2.0, bar.y + 60.0),
        (stage.x + 0.75 * stage.width, bar.y + 60.0),
    );
    let cut: f64 = browser.state("cut").parse().unwrap();
    assert!((cut - 0.75).abs() < 0.02, "{cut}");
    assert_eq!(browser.faults(), Vec::<String>::new());
}

/// A render with many passes: their names are whole, and the picture is seen without scrolling.
#[test]
fn many_layers_leave_room_for_the_picture() {
    if browser::left_out() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let image = Image::from_fn(48, 32, 3, |x, _, _| x as f32 / 48.0);
    let mut frame = Frame::new(image.clone()).unwrap();
    for pass in ["DiffDir", "DiffInd", "GlossDir", "GlossInd"] {
        for group in ["key", "fill", "rim", "practical lamps of the hall"] {
            let layer = Kind::Light(format!("{pass} {group}").into());
            frame.insert(layer, image.clone()).unwrap();
        }
    }
    let path = folder.path().join("passes.exr");
    io::write(&path, &frame, None, &WriteOptions::default()).unwrap();
    works(folder.path(), "view passes.exr -o page.html");
    let mut browser = Browser::open(&folder.path().join("page.html"), (1366, 768));
    let names = "[...document.querySelectorAll('.card span')]\
                 .map(s => [s.textContent, s.scrollWidth <= s.clientWidth && s.scrollHeight <= s.clientHeight])";
    let names = browser.value(names);
    let names = names.as_array().unwrap();
    assert!(names.len() > 16, "{names:?}");
    for name in names {
        assert_eq!(name[1], true, "{name} is cut");
    }
    let mut texts: Vec<&str> = names.iter().filter_map(|n| n[0].as_str()).collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), names.len());
    let stage = browser.place("#stage");
    assert!(stage.y + stage.height <= 768.0, "{stage:?}");
    // The card of a layer that a key chose is seen.
    browser.key("ArrowLeft");
    let seen = "(() => { const s = document.querySelector('#thumbs'), c = document.querySelector('.is-a').getBoundingClientRect(); \
                const b = s.getBoundingClientRect(); return c.left < b.right })()";
    assert_eq!(browser.value(seen), true);
    assert_eq!(browser.faults(), Vec::<String>::new());
}

#[test]
fn pages_need_no_reference() {
    if browser::left_out() {
        return;
    }
    let folder = page();
    works(folder.path(), "compare far.exr near.exr --html two.html");
    let mut browser = Browser::open(&folder.path().join("two.html"), (900, 700));
    assert_eq!(browser.state("b"), "near.exr");
    assert_eq!(
        browser.value("document.querySelectorAll('table').length"),
        0
    );
    assert_eq!(browser.faults(), Vec::<String>::new());
    drop(browser);
    works(folder.path(), "view far.exr -o one.html");
    let mut browser = Browser::open(&folder.path().join("one.html"), (900, 700));
    assert_eq!(browser.state("mode"), "single");
    assert_eq!(browser.state("a"), "color");
    assert_eq!(browser.faults(), Vec::<String>::new());
}
